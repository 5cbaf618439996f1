import type { DocumentOnWire } from '@groundstate/contract/responses'
import type { runDecidersSchema } from '@groundstate/contract/runs'
import type { teamSchema } from '@groundstate/contract/teams'
import type { userSchema } from '@groundstate/contract/users'
import { useQuery } from '@tanstack/react-query'
import { get } from '../../api/client.ts'
import { includedOf } from '../../api/queries.ts'

const RELATIONS = {
  approve: { relation: 'may-apply', include: 'may_apply.users', title: 'Who may approve' },
  unlock: { relation: 'may-force-unlock', include: 'may_force_unlock.users', title: 'Who may release the lock' },
} as const

const MOST_MEMBERS = 5

/** The teams, and their first members, that can help a run on; nothing where the reader sees none of them. */
export function Deciders({ runId, to }: { runId: string; to: keyof typeof RELATIONS }) {
  const { relation, include, title } = RELATIONS[to]
  const { data } = useQuery({
    queryKey: ['runs', runId, 'deciders', to],
    staleTime: 60_000,
    queryFn: async () => {
      const document = await get<DocumentOnWire<typeof runDecidersSchema, typeof teamSchema | typeof userSchema>>(
        `/runs/${runId}/deciders?include=${include}`,
      )
      const included = includedOf(document)
      return included.many('teams', document.data.relationships[relation]).map((team) => ({
        id: team.id,
        name: team.attributes.name,
        members: included.many('users', team.relationships.users).map((user) => user.attributes.username),
      }))
    },
  })
  if (!data || data.length === 0) return null
  return (
    <div>
      <h3 className="mb-1 text-dim">{title}</h3>
      <ul className="space-y-0.5">
        {data.map(({ id, name, members }) => (
          <li key={id}>
            <span className="font-medium">{name}</span>
            {members.length > 0 && (
              <span className="text-dim">
                {' '}
                ({members.slice(0, MOST_MEMBERS).join(', ')}
                {members.length > MOST_MEMBERS && ` and ${members.length - MOST_MEMBERS} more`})
              </span>
            )}
          </li>
        ))}
      </ul>
    </div>
  )
}
