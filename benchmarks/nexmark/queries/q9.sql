-- The winning bid of each auction: the highest from opening to expiry; of several that are equally high, all.
-- As in q4 an auction has its highest bid so far before it has closed.
CREATE STREAM Auction (id BIGINT, initialBid BIGINT, reserve BIGINT, dateTime TIMESTAMP, expires TIMESTAMP,
                       seller BIGINT, category BIGINT)
  SOURCE csv('auction.csv') ORDERED BY dateTime KEY id;
CREATE STREAM Bid (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP)
  SOURCE csv('bid.csv') ORDERED BY dateTime;
CREATE VIEW Offer AS
SELECT a.id, a.initialBid, a.reserve, a.expires, a.seller, a.category, b.bidder, b.price, b.dateTime
FROM Auction [RANGE UNBOUNDED] a, Bid [RANGE UNBOUNDED] b
WHERE a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires;

REGISTER QUERY q9 AS
SELECT * FROM Offer o
WHERE price = (SELECT MAX(p.price) FROM Offer p WHERE p.id = o.id)
INTO parquet('q9');
