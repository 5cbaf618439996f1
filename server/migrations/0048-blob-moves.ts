/** Moves of blobs exclude changes of the secret. */
export const up = `
-- location of the store to which blobs are being moved; null without a move
alter table installation add column blob_move_place text;
`
