package flow

// MostLetters is for tests.
const MostLetters = mostLetters
