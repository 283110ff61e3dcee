-- An auction site that never closes: persons register, auctions open, bids come, 10,000 events a second.
CREATE STREAM Person (id BIGINT, name STRING, city STRING, state STRING, dateTime TIMESTAMP)
  SOURCE nexmark('person', rate => 10000) ORDERED BY dateTime;
CREATE STREAM Auction (id BIGINT, seller BIGINT, category BIGINT, dateTime TIMESTAMP)
  SOURCE nexmark('auction', rate => 10000) ORDERED BY dateTime;
CREATE STREAM Bid (auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP)
  SOURCE nexmark('bid', rate => 10000) ORDERED BY dateTime;

-- an aggregate over what came in the last second, renewed every second
REGISTER QUERY bids_of_a_second AS
  SELECT COUNT(*) AS bids, MAX(price) AS highest, AVG(price) AS mean FROM Bid [RANGE 1 SECOND SLIDE 1 SECOND];

-- the items with most bids of the last ten seconds
REGISTER QUERY hot_items AS
  SELECT auction, COUNT(*) AS bids FROM Bid [RANGE 10 SECONDS SLIDE 2 SECONDS]
  GROUP BY auction ORDER BY bids DESC, auction LIMIT 3;

-- the highest bid of the current ten seconds, as soon as there is a higher one
REGISTER QUERY highest_bid AS
  SELECT auction, bidder, price FROM Bid [FIXED 10 SECONDS]
  WHERE price = (SELECT MAX(price) FROM Bid [FIXED 10 SECONDS]);

-- who has registered in the last ten seconds and opened most auctions since
REGISTER QUERY busy_newcomers AS
  SELECT P.id, P.name, P.city, COUNT(*) AS auctions FROM Person [RANGE 10 SECONDS] P, Auction [RANGE 10 SECONDS] A
  WHERE P.id = A.seller GROUP BY P.id, P.name, P.city ORDER BY auctions DESC, id LIMIT 3;

-- a stream: every auction of category 10 that somebody from one of three states opens
REGISTER QUERY nearby AS
  SELECT ISTREAM P.name, P.state, A.id AS auction FROM Person [RANGE 1 MINUTE] P, Auction [NOW] A
  WHERE A.seller = P.id AND A.category = 10 AND P.state IN ('OR', 'ID', 'CA');
