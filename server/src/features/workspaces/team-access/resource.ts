import { grantAttributes } from './grant-columns.ts'
import type { GrantKind } from './grant-kind.ts'
import type { Grant } from './grant.ts'

/** The attributes are derived from the parts of the kind; tests compare each response with its schema. */
export function grantResource(kind: GrantKind, grant: Grant) {
  const { id, team_id: teamId, subject } = grant
  const { type } = kind.schemas
  return {
    id,
    type,
    attributes: { access: grant.access, ...grantAttributes(kind, grant) },
    relationships: {
      team: { data: { id: teamId, type: 'teams' }, links: { related: `/api/v2/teams/${teamId}` } },
      [kind.noun]: { data: { id: subject.id, type: `${kind.noun}s` }, links: { related: `/api/v2${subject.path}` } },
    },
    links: { self: `/api/v2/${type}/${id}` },
  }
}
