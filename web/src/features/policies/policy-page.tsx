import { Trash2 } from 'lucide-react'
import { useRef } from 'react'
import { failureOf } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Card, CardList, DescriptionList } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { CodeBlock } from '../../components/copy.tsx'
import { useDeleteAndLeave } from '../../components/delete-and-leave.ts'
import { ErrorPage, Skeleton, loaded } from '../../components/feedback.tsx'
import { CODE_INPUT, RadioField, TextArea, TextField } from '../../components/form.tsx'
import { counted } from '../../components/numbers.ts'
import { Page } from '../../components/page.tsx'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { LEVEL_OPTIONS, type Level } from './example.ts'
import { policyRoute, usePolicy, usePolicyCode, useUpdatePolicy, useUploadCode } from './policies.ts'
import { LevelBadge, SetLink } from './policy-parts.tsx'
import { POLICY_SETS, type Policy } from './policy-sets.ts'

export function PolicyPage() {
  const { policy: id } = policyRoute.useParams()
  const query = usePolicy(id)
  const failure = failureOf(query)
  if (failure) return <ErrorPage what="policy" list="policies" {...failure} />
  return query.data ? <OpenPolicy shown={query.data} /> : <Skeleton label="Loading the policy" />
}

type Shown = NonNullable<ReturnType<typeof usePolicy>['data']>

function OpenPolicy({ shown: { policy, sets } }: { shown: Shown }) {
  const { organization } = policyRoute.useParams()
  const { name, description, query } = policy.attributes
  const mayManage = useOrganizationPermissions(organization)?.['can-update-sentinel'] === true
  return (
    <Page
      title={name}
      badge={<LevelBadge level={policy.attributes['enforcement-level']} />}
      about={description === '' ? undefined : description}
      actions={<CopyCurl path={`/policies/${policy.id}`} />}
    >
      <div className="max-w-4xl space-y-4">
        <Code policy={policy} mayManage={mayManage} />
        {mayManage ? (
          <Settings policy={policy} />
        ) : (
          <Card title="Settings">
            <DescriptionList facts={[['Query', <code key="query">{query}</code>]]} />
          </Card>
        )}
        <Card title="Used in" isFlush>
          <CardList items={sets} none="No policy set has it yet: add it on the page of a set.">
            {({ id, attributes }) => (
              <li key={id} className="px-4 py-2">
                <SetLink organization={organization} set={{ id, name: attributes.name }} />
              </li>
            )}
          </CardList>
        </Card>
        {mayManage && <Deletion policy={policy} />}
      </div>
    </Page>
  )
}

function Code({ policy, mayManage }: { policy: Policy; mayManage: boolean }) {
  const { data, fallback } = loaded(usePolicyCode(policy), { rows: 6, label: 'Loading the code' })
  if (data === undefined) return <Card title="Code">{fallback}</Card>
  if (!mayManage)
    return (
      <Card title="Code">
        {data === '' ? <p className="text-dim">None yet.</p> : <CodeBlock label="the code" code={data} />}
      </Card>
    )
  return <CodeForm policyId={policy.id} saved={data} />
}

function CodeForm({ policyId, saved }: { policyId: string; saved: string }) {
  const upload = useUploadCode(policyId)
  const file = useRef<HTMLInputElement>(null)
  const draft = useDraft({ code: saved })
  return (
    <SettingsForm
      title="Code"
      about="Rego. It is used by the next evaluations."
      names={[]}
      draft={draft}
      onSave={async () => upload.mutateAsync(draft.values.code)}
      done="Code saved"
    >
      <TextArea
        label="Code (Rego)"
        isLabelHidden
        rows={Math.min(28, Math.max(10, draft.values.code.split('\n').length))}
        className="font-mono"
        {...draft.text('code')}
        {...CODE_INPUT}
      />
      <div>
        <Button label="Load a file" size="small" onClick={() => file.current?.click()} />
        <input
          ref={file}
          type="file"
          hidden
          accept=".rego"
          aria-label="Rego file"
          onChange={({ currentTarget }) => {
            void currentTarget.files?.[0]?.text().then((code) => draft.set({ code }))
            currentTarget.value = ''
          }}
        />
      </div>
    </SettingsForm>
  )
}

function Settings({ policy }: { policy: Policy }) {
  const { description, query, 'enforcement-level': level } = policy.attributes
  const update = useUpdatePolicy(policy.id)
  const draft = useDraft<{ description: string; query: string; level: string }>({ description, query, level })
  return (
    <SettingsForm
      title="Settings"
      names={['description', 'query', 'enforcement-level']}
      draft={draft}
      onSave={async () => {
        const { level: changed, ...rest } = draft.changed
        return update.mutateAsync({
          ...rest,
          ...(changed !== undefined && { 'enforcement-level': changed as Level }),
        })
      }}
    >
      <TextField label="Description" {...draft.text('description')} autoComplete="off" />
      <TextField label="Query" className="font-mono" {...draft.text('query')} {...CODE_INPUT} />
      <RadioField
        label="Level"
        name="level"
        value={draft.values.level}
        onChange={(value) => draft.set({ level: value })}
        options={LEVEL_OPTIONS}
      />
    </SettingsForm>
  )
}

function Deletion({ policy: { id, attributes } }: { policy: Policy }) {
  const { organization } = policyRoute.useParams()
  const remove = useDeleteAndLeave()
  const { name, 'policy-set-count': sets } = attributes
  return (
    <Card title="Delete policy" tone="bad">
      <Confirm
        label="Delete policy"
        icon={Trash2}
        title={`Delete ${name}?`}
        consequence={
          sets === 0
            ? 'Its code can’t be recovered.'
            : `It is removed from ${counted(sets, 'policy set')}, and its code can’t be recovered.`
        }
        action={`Delete ${name}`}
        onConfirm={async () =>
          remove({
            path: `/policies/${id}`,
            name: `Policy ${name}`,
            target: { to: '/app/$organization/policies', params: { organization }, search: { tab: 'policies' } },
            own: ['policies', id],
            affected: [['policies'], [POLICY_SETS]],
          })
        }
      />
    </Card>
  )
}
