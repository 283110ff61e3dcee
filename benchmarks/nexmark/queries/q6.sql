-- The average closing price of the last 10 auctions of each seller that have closed.
-- An auction is open from its opening to its expiry, and closes then; it has a price if anybody bid while it was open.
CREATE STREAM Auction (id BIGINT, seller BIGINT, dateTime TIMESTAMP, expires TIMESTAMP)
  SOURCE csv('auction.csv') VALID FROM dateTime TO expires KEY id;
CREATE STREAM Bid (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP)
  SOURCE csv('bid.csv') ORDERED BY dateTime;
CREATE STREAM Closed AS
SELECT DSTREAM(id, seller) FROM Auction [NOW];
CREATE STREAM Offer AS
SELECT RSTREAM(b.auction, b.price) FROM Bid [NOW] b, Auction [NOW] a WHERE b.auction = a.id;
CREATE STREAM Closing AS
SELECT RSTREAM(c.id, c.seller, MAX(o.price) AS final)
FROM Closed [NOW] c, Offer [RANGE UNBOUNDED] o
WHERE o.auction = c.id
GROUP BY c.id, c.seller;

REGISTER QUERY q6 AS
SELECT seller, AVG(final) AS average
FROM Closing [PARTITION BY seller ROWS 10]
GROUP BY seller
INTO parquet('q6');
