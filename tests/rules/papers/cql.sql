CREATE STREAM Open (item_id INT, seller_id INT, start_price INT, ts TIMESTAMP) ORDERED BY ts;
CREATE STREAM Close (item_id INT, ts TIMESTAMP) ORDERED BY ts;
CREATE STREAM Bid (item_id INT, bid_price INT, bidder_id INT, ts TIMESTAMP) ORDERED BY ts;
CREATE STREAM Register (user_id INT, name STRING, state STRING, ts TIMESTAMP) ORDERED BY ts;
CREATE STREAM Deregister (user_id INT, ts TIMESTAMP) ORDERED BY ts;

REGISTER QUERY query_6_1 AS Select * From Open Where start_price > 100;

REGISTER QUERY query_6_2 AS
Select Count(*) From Bid[Range 1 Hour]
Where item_id >= 100 and item_id <= 200;

REGISTER QUERY query_6_3 AS
Select * From Open
Where item_id Not In (Select * From Close);

CREATE VIEW User (id, name, state) AS
Select user_id, name, state
From Register[Partition By user_id Rows 1]
Where user_id Not In
      (Select * From Deregister);

REGISTER QUERY query_6_4 AS SELECT * FROM User;

REGISTER QUERY query_6_5 AS
Select Istream(Open.*) From Open[Now], User
Where seller_id = id and state = 'CA';

REGISTER QUERY query_6_6 AS
Select Istream(Close.item_id)
From Close[Now], Open[Range 5 Hours]
Where Close.item_id = Open.item_id;

REGISTER QUERY query_6_7 AS
Select Istream(Close.item_id, P.price)
From Close[Now],
  ((Select item_id, bid_price as price
   From Bid)
  Union
  (Select item_id, start_price as price
   From Open))
  [Partition By item_id Rows 1] As P
Where Close.item_id = P.item_id;
