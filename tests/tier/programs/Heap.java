import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Holds much, makes garbage, and prints what it holds. */
public final class Heap {
  public static void main(String[] arguments) {
    Map<Integer, List<String>> held = new HashMap<>();
    for (int i = 0; i < 600000; i++) {
      List<String> list = held.computeIfAbsent(i % 15000, key -> new ArrayList<>());
      list.add("value " + i);
      if (list.size() > 20) list.subList(0, 10).clear();
    }
    long sum = 0;
    for (int round = 0; round < 2; round++)
      for (List<String> list : held.values())
        for (String text : list) sum = sum * 31 + text.hashCode();
    System.out.println(sum);
  }
}
