-- Every bid with what a small table says of it.
CREATE STREAM Bid (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP)
  SOURCE csv('bid.csv') ORDERED BY dateTime;
CREATE TABLE Side (key BIGINT, value STRING) SOURCE csv('side.csv');

REGISTER QUERY q13 AS
SELECT RSTREAM b.auction, b.bidder, b.price, b.dateTime, s.value
FROM Bid [NOW] b, Side s
WHERE b.auction % 10000 = s.key
INTO parquet('q13');
