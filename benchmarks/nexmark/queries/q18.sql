-- The last bid of each person on each auction.
CREATE STREAM Bid (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP)
  SOURCE csv('bid.csv') ORDERED BY dateTime;

REGISTER QUERY q18 AS
SELECT auction, bidder, price, dateTime
FROM Bid [PARTITION BY bidder, auction ROWS 1]
INTO parquet('q18');
