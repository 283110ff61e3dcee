-- Who sells something of category 10 in Oregon, Idaho or California.
CREATE STREAM Person (id BIGINT, name STRING, city STRING, state STRING, dateTime TIMESTAMP)
  SOURCE csv('person.csv') ORDERED BY dateTime KEY id;
CREATE STREAM Auction (id BIGINT, initialBid BIGINT, reserve BIGINT, dateTime TIMESTAMP, expires TIMESTAMP,
                       seller BIGINT, category BIGINT)
  SOURCE csv('auction.csv') ORDERED BY dateTime KEY id;

REGISTER QUERY q3 AS
SELECT ISTREAM p.name, p.city, p.state, a.id
FROM Auction [RANGE UNBOUNDED] a, Person [RANGE UNBOUNDED] p
WHERE a.seller = p.id AND a.category = 10 AND p.state IN ('OR', 'ID', 'CA')
INTO parquet('q3');
