/** Keys that sign the identity tokens of runs. */
export const up = `
create table identity_keys (
  id text primary key,
  -- SHA-256 thumbprint of the public key (RFC 7638), the kid of tokens
  key_id text not null unique,
  -- of the RSA public key, base64url
  modulus text not null,
  exponent text not null,
  -- PKCS #8 in DER, sealed
  private_key bytea not null,
  created_at timestamptz not null,
  -- from when it signs; null until an administrator activates it
  activates_at timestamptz,
  -- longest lifetime of the tokens that it signs, for which it stays published afterwards
  token_lifetime_ms integer not null
);
create unique index identity_keys_waiting_idx on identity_keys ((true)) where activates_at is null;
`
