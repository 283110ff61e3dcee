-- Every bid on an auction of category 10, with what is known of the auction.
CREATE STREAM Auction (id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT,
                       dateTime TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT)
  SOURCE csv('auction.csv') ORDERED BY dateTime KEY id;
CREATE STREAM Bid (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP)
  SOURCE csv('bid.csv') ORDERED BY dateTime;

REGISTER QUERY q20 AS
SELECT ISTREAM b.auction, b.bidder, b.price, b.channel, b.url, b.dateTime,
       a.itemName, a.description, a.initialBid, a.reserve, a.expires, a.seller, a.category
FROM Bid [RANGE UNBOUNDED] b, Auction [RANGE UNBOUNDED] a
WHERE b.auction = a.id AND a.category = 10
INTO parquet('q20');
