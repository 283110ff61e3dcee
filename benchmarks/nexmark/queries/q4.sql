-- The average closing price of the auctions of each category.
-- The closing price is the highest bid from opening to expiry. The classic text leaves open whether an auction counts
-- before it has closed; here it does, with its highest bid so far, as in the usual forms in SQL.
CREATE STREAM Auction (id BIGINT, initialBid BIGINT, reserve BIGINT, dateTime TIMESTAMP, expires TIMESTAMP,
                       seller BIGINT, category BIGINT)
  SOURCE csv('auction.csv') ORDERED BY dateTime KEY id;
CREATE STREAM Bid (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP)
  SOURCE csv('bid.csv') ORDERED BY dateTime;

REGISTER QUERY q4 AS
SELECT category, AVG(final) AS average
FROM (SELECT a.id, a.category, MAX(b.price) AS final
      FROM Auction [RANGE UNBOUNDED] a, Bid [RANGE UNBOUNDED] b
      WHERE a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires
      GROUP BY a.id, a.category) AS closing
GROUP BY category
INTO parquet('q4');
