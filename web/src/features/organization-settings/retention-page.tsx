import { CopyCurl } from '../../components/copy-curl.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { Notice } from '../../components/feedback.tsx'
import { RadioField, TextField } from '../../components/form.tsx'
import { counted } from '../../components/numbers.ts'
import { Page } from '../../components/page.tsx'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import { DAYS, policyText, useRetention, useSetRetention } from '../workspaces/retention.ts'
import { type Organization, useOpenOrganization } from './organization-settings.ts'

export function RetentionPage() {
  const { name, data, fallback } = useOpenOrganization()
  return (
    <Page title="Retention" actions={<CopyCurl path={`/organizations/${name}`} />}>
      {data ? <Retention organization={data} /> : fallback}
    </Page>
  )
}

const SERVER = {
  text: 'Server defaults',
  about: 'States are kept forever, configurations as long as the settings of the server say.',
}

function Retention({ organization: { id: name, attributes, relationships } }: { organization: Organization }) {
  const relation = relationships['data-retention-policy']
  const days = useRetention('organizations', name, relation)
  const set = useSetRetention('organizations', name)
  const kind = relation.data === null ? 'server' : days ? 'delete' : 'keep'
  const draft = useDraft<{ kind: string; days: string }>({ kind, days: days ? String(days) : '365' })
  const { values } = draft
  const isDeleting = values.kind === 'delete'
  const isDirty = values.kind !== kind || (isDeleting && draft.changed.days !== undefined)
  return (
    <SettingsForm
      title="Data retention"
      about={
        <>
          How long old content is kept in workspaces without their own policy.{' '}
          <DocsLink page="operations" anchor="what-is-kept-and-how-long">
            What is kept, and how long
          </DocsLink>
        </>
      }
      // Owners only.
      readOnly={
        !attributes.permissions['can-view-usage'] && (kind === 'server' ? SERVER.about : `${policyText(days)}.`)
      }
      names={[DAYS]}
      draft={{ ...draft, isDirty }}
      onSave={async () =>
        set.mutateAsync(isDeleting ? Number(values.days) : values.kind === 'server' ? 'inherit' : null)
      }
    >
      <RadioField
        label="Retention policy"
        name="retention"
        value={values.kind}
        onChange={(selected) => draft.set({ kind: selected })}
        options={[
          { value: 'server', ...SERVER },
          { value: 'keep', text: 'Keep forever', about: 'Nothing is deleted.' },
          { value: 'delete', text: 'Delete after a number of days', about: 'Older content is deleted permanently.' },
        ]}
      />
      {isDeleting && (
        <>
          <TextField label="Days" type="number" min={1} className="w-28!" {...draft.text('days', DAYS)} />
          {isDirty && (
            <Notice tone="warn" role="status">
              Content older than {counted(Number(values.days) || 0, 'day')} is deleted within the next hours. The
              current state of a workspace, its current configuration, and those that runs still need are kept.
            </Notice>
          )}
        </>
      )}
    </SettingsForm>
  )
}
