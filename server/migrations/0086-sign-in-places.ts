/** Where people have signed in with their passwords, so that wrong ones from elsewhere do not hold them up there. */
export const up = `
create table sign_in_places (
  user_id text not null references users on delete cascade,
  -- an IPv4 address, or an IPv6 network of 64 bits
  place text not null,
  last_at timestamptz not null,
  primary key (user_id, place)
);
create index sign_in_places_age_idx on sign_in_places (last_at);
`
