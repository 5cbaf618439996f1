import { Trash2 } from 'lucide-react'
import { Card, DescriptionList } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { useDeleteAndLeave } from '../../components/delete-and-leave.ts'
import { DocsLink } from '../../components/docs-link.tsx'
import { CheckField, RadioField, TextArea, TextField } from '../../components/form.tsx'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import { VISIBILITIES } from './new-team-dialog.tsx'
import { type Team, isOwners, useUpdateTeam } from './teams.ts'

type TeamSettingsProps = { organization: string; team: Team }

export function TeamSettings({ organization, team }: TeamSettingsProps) {
  return (
    <div className="space-y-4">
      <General organization={organization} team={team} />
      {team.attributes.permissions['can-destroy'] && <Deletion organization={organization} team={team} />}
    </div>
  )
}

function General({ organization, team }: TeamSettingsProps) {
  const { attributes } = team
  const { permissions } = attributes
  const update = useUpdateTeam(organization, team.id)
  const draft = useDraft({
    name: attributes.name,
    description: attributes.description ?? '',
    visibility: attributes.visibility,
    'sso-team-id': attributes['sso-team-id'] ?? '',
    'allow-member-token-management': attributes['allow-member-token-management'],
  })
  const readOnly = !permissions['can-update-sso-team-id'] && (
    <DescriptionList
      facts={[
        ['Visibility', VISIBILITIES.find(({ value }) => value === attributes.visibility)?.about],
        ['SSO team ID', attributes['sso-team-id']],
        [
          'Member tokens',
          attributes['allow-member-token-management']
            ? 'Members manage the team’s tokens.'
            : 'Only users who manage teams manage its tokens.',
        ],
      ]}
    />
  )
  return (
    <SettingsForm
      title="General"
      readOnly={readOnly || undefined}
      names={['name', 'description', 'sso-team-id']}
      draft={draft}
      onSave={async () => update.mutateAsync(draft.changed)}
    >
      {!isOwners(team) && <TextField label="Name" maxLength={90} required {...draft.text('name')} />}
      <TextArea label="Description" rows={2} maxLength={1000} {...draft.text('description')} />
      {!isOwners(team) && (
        <RadioField
          label="Visibility"
          name="visibility"
          value={draft.values.visibility}
          options={VISIBILITIES}
          onChange={(visibility) => draft.set({ visibility })}
        />
      )}
      <TextField
        label="SSO team ID"
        hint={
          <>
            Name or ID of the group whose users single sign-on adds to the team.{' '}
            <DocsLink page="sign-in" anchor="map-groups-to-teams">
              Map groups to teams
            </DocsLink>
          </>
        }
        {...draft.text('sso-team-id')}
      />
      <CheckField
        label="Members manage tokens"
        hint="Every member may create and revoke tokens of the team, which have all of its access."
        {...draft.check('allow-member-token-management')}
      />
    </SettingsForm>
  )
}

function Deletion({ organization, team }: TeamSettingsProps) {
  const remove = useDeleteAndLeave()
  const { name } = team.attributes
  if (isOwners(team)) return null
  return (
    <Card
      title="Delete team"
      about="Its members lose what only this team may do, and its tokens stop working. The people stay members."
      tone="bad"
    >
      <Confirm
        label="Delete team"
        icon={Trash2}
        title={`Delete the team ${name}?`}
        consequence="Pipelines that use its tokens stop working immediately. This can’t be undone."
        typedName={name}
        action="Delete team"
        onConfirm={async () =>
          remove({
            path: `/teams/${team.id}`,
            name,
            target: { to: '/app/$organization/teams', params: { organization } },
            own: ['teams', team.id],
            affected: [
              ['teams', organization],
              ['organization-memberships', organization],
            ],
          })
        }
      />
    </Card>
  )
}
