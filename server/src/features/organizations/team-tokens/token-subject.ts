import { requireTeamForTokens } from './access.ts'

type Team = Awaited<ReturnType<typeof requireTeamForTokens>>

export function tokenSubject(team: Team) {
  return {
    kind: 'team',
    team_id: team.id,
    organization_id: team.organization_id,
    user_id: team.service_user_id,
  } as const
}
