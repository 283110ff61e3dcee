-- The bids on some auctions.
-- The classic query names five auctions; which of them exist depends on the length of the run, so every 123rd is taken.
CREATE STREAM Bid (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP)
  SOURCE csv('bid.csv') ORDERED BY dateTime;

REGISTER QUERY q2 AS
SELECT ISTREAM auction, price
FROM Bid [RANGE UNBOUNDED]
WHERE auction % 123 = 0
INTO parquet('q2');
