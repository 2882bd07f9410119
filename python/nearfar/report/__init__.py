"""Results for people: text for a terminal, and a page that needs nothing but itself."""
