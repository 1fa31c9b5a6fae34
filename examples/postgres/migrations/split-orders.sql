-- What is paid is never touched again, and moves out of the way of what is open.
CREATE TABLE paid_orders AS SELECT id, customer, cents FROM orders WHERE paid;
CREATE TABLE open_orders AS SELECT id, customer, cents FROM orders WHERE NOT paid;
DROP TABLE orders;
