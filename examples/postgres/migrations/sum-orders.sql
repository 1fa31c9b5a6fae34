-- Only the totals are kept.
CREATE TABLE sales AS
  SELECT customer, count(*) AS orders, sum(cents) AS cents FROM orders GROUP BY customer;
ALTER TABLE sales ADD PRIMARY KEY (customer);
DROP TABLE orders;
