-- The persons who opened an auction in the same 10 seconds in which they registered.
-- The classic query speaks of the last 12 hours; the usual form today has tumbling windows of 10 seconds. A person is
-- told as soon as it is known, once.
CREATE STREAM Person (id BIGINT, name STRING, city STRING, state STRING, dateTime TIMESTAMP)
  SOURCE csv('person.csv') ORDERED BY dateTime KEY id;
CREATE STREAM Auction (id BIGINT, initialBid BIGINT, reserve BIGINT, dateTime TIMESTAMP, expires TIMESTAMP,
                       seller BIGINT, category BIGINT)
  SOURCE csv('auction.csv') ORDERED BY dateTime KEY id;

REGISTER QUERY q8 AS
SELECT ISTREAM DISTINCT p.id, p.name
FROM Person [FIXED 10 SECONDS] p, Auction [FIXED 10 SECONDS] a
WHERE p.id = a.seller
INTO parquet('q8');
