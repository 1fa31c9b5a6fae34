CREATE TABLE customers (
  id int PRIMARY KEY,
  name text NOT NULL
);
CREATE TABLE orders (
  id int PRIMARY KEY,
  customer int NOT NULL REFERENCES customers,
  cents int NOT NULL,
  paid boolean NOT NULL
);
CREATE TABLE carts (
  customer int NOT NULL REFERENCES customers,
  item text NOT NULL
);

INSERT INTO customers SELECT i, 'customer ' || i FROM generate_series(1, 1000) i;
INSERT INTO orders SELECT i, 1 + i % 1000, 100 + i % 5000, i % 10 > 0 FROM generate_series(1, 100000) i;
INSERT INTO carts SELECT 1 + i % 1000, 'item ' || i FROM generate_series(1, 5000) i;
ANALYZE;
