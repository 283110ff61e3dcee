"""The events of NEXMark, an auction house: persons, auctions and bids, each made from its number alone."""
