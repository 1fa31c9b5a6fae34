"""A warehouse in one SQLite file, at one fixed place."""

import os
import sqlite3

FILE = "/var/tmp/pytest-example-stock.db"


class Short(Exception):
    """There is less than asked for."""


class Stock:
    def __init__(self):
        self.db = sqlite3.connect(FILE)
        self.db.execute("create table if not exists items (name text primary key, number integer not null)")

    @staticmethod
    def remove_file():
        if os.path.exists(FILE):
            os.remove(FILE)

    def receive(self, name, number):
        if number < 1:
            raise ValueError("nothing was received")
        with self.db:
            self.db.execute(
                "insert into items values (?, ?) on conflict (name) do update set number = number + excluded.number",
                (name, number),
            )

    def number(self, name):
        row = self.db.execute("select number from items where name = ?", (name,)).fetchone()
        return row[0] if row else 0

    def ship(self, order):
        with self.db:
            for name, number in order.items():
                if self.number(name) < number:
                    raise Short(name)
                self.db.execute("update items set number = number - ? where name = ?", (number, name))

    def low(self, below):
        rows = self.db.execute("select name from items where number < ? order by name", (below,))
        return [name for (name,) in rows]
