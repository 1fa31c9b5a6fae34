-- An order names its customer itself.
ALTER TABLE orders ADD customer_name text;
UPDATE orders SET customer_name = name FROM customers WHERE customers.id = customer;
ALTER TABLE orders DROP customer, ALTER customer_name SET NOT NULL;
DROP TABLE customers CASCADE;
