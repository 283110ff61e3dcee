-- the slow stream first
-- statistics: Bid.rate = 100, Open.rate = 10, Close.rate = 0.1, Bid.item_id = 200
SELECT price FROM Bid [RANGE 99], Open [RANGE 99], Close [RANGE 9]
WHERE Bid.item_id = Open.item_id AND Open.item_id = Close.item_id;
-- conditions in the joins, one of them no equality, and a filter of one input
-- statistics: Bid.rate = 100, Open.rate = 10, Person.rate = 0.1, Bid.item_id = 200, Bid.bidder_id = 1000
SELECT * FROM Bid [RANGE 99] JOIN Open [RANGE 99] ON Bid.item_id = Open.item_id AND start_price < price
JOIN Person [RANGE 9] ON bidder_id = id WHERE state = 'OR';
-- the order of the columns is changed back by a map
-- statistics: Bid.rate = 100, Open.rate = 0.01, Close.rate = 0.1, Bid.item_id = 200
SELECT * FROM Open [RANGE 99], Bid [RANGE 99], Close [RANGE 9]
WHERE Bid.item_id = Close.item_id AND Close.item_id = Open.item_id;
-- a product only where nothing else is left
-- statistics: Bid.rate = 100, Open.rate = 1, Close.rate = 0.1, Bid.item_id = 200
SELECT price FROM Open [RANGE 99], Category C, Bid [RANGE 99], Close [RANGE 9]
WHERE Bid.item_id = Open.item_id AND Bid.item_id = Close.item_id;
-- a condition that can fail stays above
-- statistics: Bid.rate = 100, Open.rate = 10, Close.rate = 0.1, Bid.item_id = 200
SELECT price FROM Bid [RANGE 99], Open [RANGE 99], Close [RANGE 9]
WHERE Bid.item_id = Open.item_id AND Open.item_id = Close.item_id AND price + start_price > 7;
-- they are in order already
-- statistics: Bid.rate = 100, Open.rate = 10, Close.rate = 0.1, Bid.item_id = 200
SELECT price FROM Close [RANGE 9], Open [RANGE 99], Bid [RANGE 99]
WHERE Bid.item_id = Open.item_id AND Open.item_id = Close.item_id;
-- two inputs have one order
-- statistics: Bid.rate = 100, Open.rate = 10
SELECT price FROM Bid [RANGE 99], Open [RANGE 99] WHERE Bid.item_id = Open.item_id;
-- an outer join stays where it is
-- statistics: Bid.rate = 100, Open.rate = 10, Close.rate = 0.1, Bid.item_id = 200
SELECT price FROM Bid [RANGE 99] LEFT JOIN Open [RANGE 99] ON Bid.item_id = Open.item_id, Close [RANGE 9]
WHERE Open.item_id = Close.item_id;
