import { Link, getRouteApi } from '@tanstack/react-router'
import { Trash2 } from 'lucide-react'
import { failureOf } from '../../api/queries.ts'
import { buttonClass } from '../../components/button.tsx'
import { Card, DescriptionList } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { useDeleteAndLeave } from '../../components/delete-and-leave.ts'
import { ErrorPage, Skeleton } from '../../components/feedback.tsx'
import { RadioField, TextField } from '../../components/form.tsx'
import { Page } from '../../components/page.tsx'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { useOrganizations } from '../organizations/organizations.ts'
import {
  type FeatureSet,
  type SiteOrganization,
  limitsText,
  updateSiteOrganization,
  useFeatureSets,
  useSiteOrganization,
} from './organizations.ts'

const route = getRouteApi('/frame/app/admin/organizations/$name')

export function AdminOrganizationPage() {
  const { name } = route.useParams()
  const query = useSiteOrganization(name)
  const sets = useFeatureSets()
  const own = useOrganizations().data?.data.some(({ attributes }) => attributes.name === name)
  const failure = failureOf(query, sets)
  if (failure) return <ErrorPage what="organization" {...failure} />
  if (!query.data || !sets.data) return <Skeleton rows={8} />
  return (
    <Page
      title={query.data.attributes.name}
      about={own ? undefined : 'You are not a member, so its workspaces are hidden from you. An owner can invite you.'}
      actions={
        <>
          <CopyCurl path={`/admin/organizations/${name}`} />
          {own && (
            <Link to="/app/$organization" params={{ organization: name }} className={buttonClass()}>
              Open organization
            </Link>
          )}
        </>
      }
    >
      <div className="grid gap-4">
        <Summary organization={query.data} />
        <Plan organization={query.data} sets={sets.data} />
        <Deletion name={name} />
      </div>
    </Page>
  )
}

function Summary({ organization: { attributes } }: { organization: SiteOrganization }) {
  return (
    <Card title="Organization">
      <DescriptionList
        facts={[
          ['Notification email', attributes['notification-email']],
          ['Created', <RelativeTime key="created" at={attributes['created-at']} />],
          [
            'ID',
            <span key="id" className="inline-flex items-center gap-1 font-mono">
              {attributes['external-id']} <CopyButton text={attributes['external-id']} label="Copy the ID" />
            </span>,
          ],
        ]}
      />
    </Card>
  )
}

function Plan({ organization, sets }: { organization: SiteOrganization; sets: readonly FeatureSet[] }) {
  const { name, plan, 'run-concurrency': limit } = organization.attributes
  const draft = useDraft({ plan, 'run-concurrency': limit === null ? '' : String(limit) })

  async function save() {
    const { plan: chosen, 'run-concurrency': concurrency } = draft.changed
    const set = sets.find(({ attributes }) => attributes.identifier === chosen)
    await updateSiteOrganization(name, {
      ...(set && { plan: set.attributes.identifier }),
      ...(concurrency !== undefined && {
        // The server rejects text that is not a number, with the reason at the field.
        'run-concurrency': concurrency.trim() === '' ? null : Number(concurrency) || (concurrency as never),
      }),
    })
  }

  return (
    <SettingsForm
      title="Plan and quotas"
      about="A lower limit removes nothing: it only prevents more than it allows."
      names={['plan', 'run-concurrency']}
      draft={draft}
      onSave={save}
      done="Quotas saved"
    >
      <RadioField
        label="Plan"
        name="plan"
        value={draft.values.plan}
        onChange={(value) => draft.set({ plan: value })}
        options={sets.map((set) => ({
          value: set.attributes.identifier,
          text: set.attributes.name,
          about: limitsText(set),
        }))}
      />
      <TextField
        label="Concurrent runs"
        hint="Plans and applies on agents at a time, in all pools. Empty for no limit."
        inputMode="numeric"
        className="max-w-32"
        {...draft.text('run-concurrency')}
      />
    </SettingsForm>
  )
}

function Deletion({ name }: { name: string }) {
  const remove = useDeleteAndLeave()
  return (
    <Card
      title="Delete organization"
      tone="bad"
      about="Deletes its workspaces with their states, runs, variables, teams and tokens. Resources in the cloud stay and are no longer managed."
    >
      <Confirm
        icon={Trash2}
        label="Delete organization"
        title={`Delete ${name}?`}
        consequence="This can’t be undone. Members lose access immediately, and running plans and applies are lost."
        typedName={name}
        action="Delete organization"
        onConfirm={async () =>
          remove({
            path: `/admin/organizations/${name}`,
            name,
            target: { to: '/app/admin/organizations' },
            own: ['admin-organizations', name],
            affected: [['admin-organizations', 'list'], ['organizations']],
          })
        }
      />
    </Card>
  )
}
