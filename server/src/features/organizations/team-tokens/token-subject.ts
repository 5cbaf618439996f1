/** A team's token acts as the service account of the team. */
export function tokenSubject(team: { id: string; organization_id: string; service_user_id: string }) {
  return {
    kind: 'team',
    team_id: team.id,
    organization_id: team.organization_id,
    user_id: team.service_user_id,
  } as const
}
