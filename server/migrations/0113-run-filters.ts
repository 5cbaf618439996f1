/** Written out twice: an index calls no function that needs a search path. */
const SPACED = `' ' || translate(lower(whole), e'\\t\\r\\n-_/.:,;=|()[]{}<>"''', repeat(' ', 22))`

/**
 * Filters of runs that rarely meet, and short texts. The indexes hold what filters combine, so that each combination has its runs in order.
 * Runs can't be written while the indexes are built.
 */
export const up = `
set local maintenance_work_mem = '256MB';

drop index if exists runs_status_idx, runs_user_idx, run_keys_kinds_idx, run_keys_message_idx;

-- Columns and no expressions of them: each change of a run enters the indexes, and would work the expressions out.
create index runs_kinds_idx on runs (organization_id, source, plan_only, save_plan, refresh_only, is_destroy, allow_empty_apply,
  status, seq desc);
create index runs_user_kinds_idx on runs (organization_id, created_by_user_id, source, plan_only, save_plan, refresh_only, is_destroy,
  allow_empty_apply, status, seq desc) where created_by_user_id is not null;

-- In lower case, each word behind a space.
create function spaced_words(whole text) returns text language sql immutable parallel safe as $$
  select ${SPACED}
$$;

-- The trigrams of a text, and the first letter and the first two of each word behind a ^. Long texts are not taken apart. In PL/pgSQL,
-- since a query takes twice the time.
create function text_keys(whole text) returns text[] language plpgsql immutable parallel safe as $$
declare
  small text := lower(whole);
  word text;
  keys text[] := '{}';
begin
  if length(whole) > 1000 then return array['*']; end if;
  for place in 1..length(small) - 2 loop
    keys := keys || substr(small, place, 3);
  end loop;
  foreach word in array string_to_array(${SPACED}, ' ') loop
    if word <> '' then keys := keys || array['^' || left(word, 1), '^' || left(word, 2)]; end if;
  end loop;
  return keys;
end $$;
create index run_keys_text_idx on run_keys using gin (text_keys(message)) with (gin_pending_list_limit = 256);
`
