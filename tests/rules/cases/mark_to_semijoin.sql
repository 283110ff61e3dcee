-- the mark must be TRUE
SELECT label FROM Category WHERE (item_id IN (SELECT item_id FROM Close)) IS TRUE;
-- it must be FALSE: a null-aware antijoin
SELECT label FROM Category WHERE (item_id IN (SELECT item_id FROM Close)) IS FALSE AND label = 'x';
-- of a comparison: an antijoin that takes the unknown for a partner
SELECT label FROM Category WHERE NOT (item_id > ANY (SELECT item_id FROM Close));
-- FALSE or NULL
SELECT label FROM Category WHERE (item_id IN (SELECT item_id FROM Close)) IS NOT TRUE;
-- TRUE or NULL
SELECT label FROM Category WHERE (item_id IN (SELECT item_id FROM Close)) IS NOT FALSE;
-- with a correlated condition
SELECT label FROM Category AS c WHERE (item_id IN (SELECT price FROM Bid [NOW] WHERE bidder_id = c.item_id)) IS FALSE;
-- it must be NULL
SELECT label FROM Category WHERE (item_id IN (SELECT item_id FROM Close)) IS NULL;
-- it is one of two conditions that are enough
SELECT label FROM Category WHERE item_id IN (SELECT item_id FROM Close) OR label = 'x';
-- it is an output
SELECT label, item_id IN (SELECT item_id FROM Close) AS m FROM Category;
