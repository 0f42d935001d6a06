package flow

// MostArrows is for tests.
const MostArrows = mostArrows
