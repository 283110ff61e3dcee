-- Every bid, as it is.
CREATE STREAM Bid (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP)
  SOURCE csv('bid.csv') ORDERED BY dateTime;

REGISTER QUERY q0 AS
SELECT RSTREAM auction, bidder, price, dateTime
FROM Bid [NOW]
INTO parquet('q0');
