// SPDX-License-Identifier: (MIT OR GPL-2.0)
/* The character device /dev/nearfar, which only root opens. */
#include <asm/tsc.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "nearfar.h"

static u32 overhead[3];

static int open_client(struct inode* inode, struct file* file) {
  struct nearfar_client* client;

  if (!capable(CAP_SYS_RAWIO)) return -EPERM;
  client = kzalloc(sizeof(*client), GFP_KERNEL);
  if (!client) return -ENOMEM;
  init_rwsem(&client->guards_region);
  mutex_init(&client->guards_team);
  init_waitqueue_head(&client->begun);
  file->private_data = client;
  return nonseekable_open(inode, file);
}

static int close_client(struct inode* inode, struct file* file) {
  struct nearfar_client* client = file->private_data;

  nearfar_give_back(&client->region);
  kfree(client);
  return 0;
}

static int tell(struct nearfar_info* info) {
  if (info->zero) return -EINVAL;
  *info = (struct nearfar_info){
      .protocol = NEARFAR_PROTOCOL,
      .features = nearfar_features(),
      .tsc_khz = tsc_khz,
      .overhead = {overhead[0], overhead[1], overhead[2]},
      .longest_cycles = READ_ONCE(nearfar_longest_cycles),
  };
  return 0;
}

static int take(struct nearfar_client* client, struct nearfar_memory* asked) {
  int error;

  if (down_write_killable(&client->guards_region)) return -EINTR;
  error = nearfar_take(&client->region, asked);
  up_write(&client->guards_region);
  return error;
}

/* The largest of the structures. */
union asked {
  struct nearfar_info info;
  struct nearfar_memory memory;
  struct nearfar_chase chase;
  struct nearfar_stream stream;
  struct nearfar_overwrite overwrite;
  struct nearfar_follow follow;
  struct nearfar_drop drop;
  struct nearfar_contention contention;
};

static int measure(struct nearfar_client* client, unsigned int command, union asked* asked) {
  int error;

  if (down_read_killable(&client->guards_region)) return -EINTR;
  switch (command) {
    case NEARFAR_IOC_CHASE:
      error = nearfar_chase(client, &asked->chase);
      break;
    case NEARFAR_IOC_STREAM:
      error = nearfar_stream(client, &asked->stream);
      break;
    case NEARFAR_IOC_OVERWRITE:
      error = nearfar_overwrite(client, &asked->overwrite);
      break;
    case NEARFAR_IOC_FOLLOW:
      error = nearfar_follow(client, &asked->follow);
      break;
    case NEARFAR_IOC_CONTENTION:
      error = nearfar_contention(client, &asked->contention);
      break;
    default:
      error = nearfar_drop(client, &asked->drop);
      break;
  }
  up_read(&client->guards_region);
  return error;
}

static bool is_known(unsigned int command) {
  switch (command) {
    case NEARFAR_IOC_INFO:
    case NEARFAR_IOC_MEMORY:
    case NEARFAR_IOC_CHASE:
    case NEARFAR_IOC_STREAM:
    case NEARFAR_IOC_OVERWRITE:
    case NEARFAR_IOC_FOLLOW:
    case NEARFAR_IOC_DROP:
    case NEARFAR_IOC_CONTENTION:
      return true;
  }
  return false;
}

static long answer(struct file* file, unsigned int command, unsigned long argument) {
  void __user* const from = (void __user*)argument;
  const size_t size = _IOC_SIZE(command);
  union asked* asked;
  int error;

  if (!is_known(command)) return -ENOTTY;
  asked = kzalloc(sizeof(*asked), GFP_KERNEL);
  if (!asked) return -ENOMEM;
  if (copy_from_user(asked, from, size))
    error = -EFAULT;
  else if (command == NEARFAR_IOC_INFO)
    error = tell(&asked->info);
  else if (command == NEARFAR_IOC_MEMORY)
    error = take(file->private_data, &asked->memory);
  else
    error = measure(file->private_data, command, asked);
  if (!error && copy_to_user(from, asked, size)) error = -EFAULT;
  kfree(asked);
  return error;
}

static const struct file_operations operations = {
    .owner = THIS_MODULE,
    .open = open_client,
    .release = close_client,
    .unlocked_ioctl = answer,
};

static struct miscdevice device = {
    .minor = MISC_DYNAMIC_MINOR,
    .name = "nearfar",
    .fops = &operations,
    .mode = 0600,
};

static int __init load(void) {
  const u32 features = nearfar_features();

  BUILD_BUG_ON(sizeof(struct nearfar_chunk) != 24);
  if (!boot_cpu_has(X86_FEATURE_RDTSCP)) return -ENODEV;
  nearfar_width = features & NEARFAR_HAS_AVX512 ? 2 : features & NEARFAR_HAS_AVX2 ? 1 : 0;
  nearfar_measure_overhead(overhead);
  return misc_register(&device);
}

static void __exit unload(void) { misc_deregister(&device); }

module_init(load);
module_exit(unload);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_AUTHOR("nearfar");
MODULE_DESCRIPTION("Measures memory with interrupts and preemption off");
MODULE_VERSION("1");
