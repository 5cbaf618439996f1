import { Card } from '../../components/card.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { CheckField } from '../../components/form.tsx'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import { ACCESS_NAMES, INCLUDED_ACCESS, ORGANIZATION_ACCESS, type Team, isOwners, useUpdateTeam } from './teams.ts'

export function TeamPermissions({ organization, team }: { organization: string; team: Team }) {
  const { 'organization-access': access, permissions } = team.attributes
  const update = useUpdateTeam(organization, team.id)
  const saved = Object.fromEntries(ACCESS_NAMES.map((name) => [name, access[name]]))
  const draft = useDraft<Record<string, boolean>>(saved)
  if (isOwners(team)) {
    return (
      <Card title="Permissions in the organization">
        Owners have full access to everything in the organization, including its settings and deletion.
      </Card>
    )
  }
  const granted = ACCESS_NAMES.filter((name) => access[name])
  const readOnly = !permissions['can-update-organization-access'] && (
    <>
      {granted.length === 0 && <p className="text-dim">None.</p>}
      <ul className="space-y-2 empty:hidden">
        {granted.map((name) => (
          <li key={name}>
            <p className="font-medium">{ORGANIZATION_ACCESS[name].text}</p>
            <p className="text-dim">{ORGANIZATION_ACCESS[name].about}</p>
          </li>
        ))}
      </ul>
    </>
  )
  return (
    <SettingsForm
      title="Permissions in the organization"
      about={
        <>
          They apply to the whole organization, including what is created later.{' '}
          <DocsLink page="authorisation" anchor="grants-and-levels">
            How access adds up
          </DocsLink>
        </>
      }
      readOnly={readOnly || undefined}
      names={[]}
      draft={draft}
      onSave={async () => update.mutateAsync({ 'organization-access': draft.changed })}
      done="Permissions saved"
    >
      {ACCESS_NAMES.map((name) => {
        const including = INCLUDED_ACCESS[name]
        const isIncluded = including !== undefined && draft.values[including] === true
        const { text, about } = ORGANIZATION_ACCESS[name]
        return (
          <CheckField
            key={name}
            label={text}
            hint={isIncluded ? 'Included in the permission for all projects.' : about}
            {...draft.check(name)}
            {...(isIncluded && { checked: true, disabled: true })}
          />
        )
      })}
    </SettingsForm>
  )
}
