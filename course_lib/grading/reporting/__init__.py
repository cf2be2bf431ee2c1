"""What a class and its instructor read: tables, pages, flags."""
