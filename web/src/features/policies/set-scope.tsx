import { Plus } from 'lucide-react'
import { useState } from 'react'
import { request } from '../../api/client.ts'
import { useChange } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { ErrorNote } from '../../components/feedback.tsx'
import { CODE_INPUT, CheckField, RadioField, TextField } from '../../components/form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import { TagBadge } from '../../components/status.tsx'
import { ScopeList } from '../workspaces/scope-list.tsx'
import { SCOPE_OPTIONS } from './new-set-dialog.tsx'
import { selectorText } from './policy-parts.tsx'
import {
  POLICY_SETS,
  type PolicySet,
  type RelationChange,
  type ShownSet,
  useChangeRelation,
  useUpdatePolicySet,
} from './policy-sets.ts'

type ScopeProps = { organization: string; shown: ShownSet }

/** The workspaces to which a set applies. */
export function SetScope({ organization, shown }: ScopeProps) {
  const { set } = shown
  const mayChange = set.attributes.permissions['can-update']
  const update = useUpdatePolicySet(set.id)
  const change = useChangeRelation(set.id)
  const draft = useDraft({ scope: set.attributes.global ? 'global' : 'selected' })
  function list(relation: Exclude<RelationChange['relation'], 'policies'>) {
    const act = (method: RelationChange['method'], id: string, done: string) =>
      change.mutate({ method, relation, id }, { onSuccess: () => toast({ text: done }) })
    const kind = relation.startsWith('workspace') ? 'workspaces' : 'projects'
    const isExclusion = relation.endsWith('exclusions')
    return {
      organization,
      kind,
      ownerId: `${set.id} ${relation}`,
      mayChange,
      onAdd: ({ id, text }: { id: string; text: string }) =>
        act('POST', id, isExclusion ? `${text} excluded` : `Applies to ${text}`),
      onRemove: ({ id, text }: { id: string; text: string }) =>
        act('DELETE', id, isExclusion ? `${text} no longer excluded` : `No longer applied to ${text}`),
      removeLabel: (name: string) => `Remove ${kind.slice(0, -1)} ${name}${isExclusion ? ' from the exclusions' : ''}`,
    } as const
  }
  const items = (resources: readonly { id: string; attributes: { name: string } }[]) =>
    resources.map(({ id, attributes }) => ({ id, name: attributes.name }))
  return (
    <div className="max-w-4xl space-y-4">
      <SettingsForm
        title="Applies to"
        readOnly={!mayChange && (set.attributes.global ? 'All workspaces' : 'Selected workspaces')}
        names={['global']}
        draft={draft}
        onSave={async () => update.mutateAsync({ global: draft.values.scope === 'global' })}
        done="Scope saved"
      >
        <RadioField
          label="Scope"
          name="scope"
          value={draft.values.scope}
          onChange={(scope) => draft.set({ scope })}
          options={SCOPE_OPTIONS}
        />
      </SettingsForm>
      {change.error && <ErrorNote error={change.error} />}
      {!set.attributes.global && (
        <Card title="Selected" about="Changes apply immediately.">
          <div className="grid gap-4 sm:grid-cols-2">
            <ScopeList
              {...list('projects')}
              title="Projects"
              label="Selected projects"
              none="No projects selected."
              selected={items(shown.projects)}
            />
            <ScopeList
              {...list('workspaces')}
              title="Workspaces"
              label="Selected workspaces"
              none="No workspaces selected."
              selected={items(shown.workspaces)}
            />
          </div>
        </Card>
      )}
      <Tags set={set} mayChange={mayChange} />
      <Card title="Exclusions" about="The set never applies to these, whatever selects them.">
        <div className="grid gap-4 sm:grid-cols-2">
          <ScopeList
            {...list('project-exclusions')}
            title="Projects"
            label="Excluded projects"
            none="No projects excluded."
            selected={items(shown.excludedProjects)}
          />
          <ScopeList
            {...list('workspace-exclusions')}
            title="Workspaces"
            label="Excluded workspaces"
            none="No workspaces excluded."
            selected={items(shown.excludedWorkspaces)}
          />
        </div>
      </Card>
    </div>
  )
}

type Selector = PolicySet['attributes']['tag-selectors'][number]

/** The tags that select or exclude workspaces. */
function Tags({ set, mayChange }: { set: PolicySet; mayChange: boolean }) {
  const [values, setValues] = useState({ key: '', value: '', isExclude: false })
  const change = useChange(
    async ({ method, selector }: { method: 'POST' | 'DELETE'; selector: Selector }) =>
      request(method, `/policy-sets/${set.id}/tag-selectors`, { data: [selector] }),
    [POLICY_SETS],
  )
  const selectors = set.attributes['tag-selectors']
  const remove = (selector: Selector) => async () => change.mutateAsync({ method: 'DELETE', selector })
  return (
    <Card
      title="Tags"
      about={
        set.attributes.global
          ? 'Workspaces with one of these tags are excluded, also when it is that of their project.'
          : 'Workspaces with one of these tags, also when it is that of their project.'
      }
    >
      <div className="space-y-3">
        {selectors.length === 0 && <p className="text-dim">No tags.</p>}
        <ul aria-label="Tags" className="divide-y divide-line rounded-md border border-line empty:hidden">
          {selectors.map((selector) => {
            const text = selectorText({ key: selector['tag-key'], value: selector['tag-value'] })
            return (
              <li key={`${text} ${selector['is-exclude']}`} className="flex items-center gap-2 px-3 py-1">
                <span className="flex-1">
                  <TagBadge text={text} />{' '}
                  <span className="text-dim">{selector['is-exclude'] ? 'excluded' : 'selected'}</span>
                </span>
                {mayChange && (
                  <RowMenu
                    label={`Actions for tag ${text}`}
                    actions={[
                      {
                        text: 'Remove',
                        confirm: {
                          title: `Remove the tag ${text}?`,
                          action: 'Remove tag',
                          done: 'Tag removed',
                          onConfirm: remove(selector),
                        },
                      },
                    ]}
                  />
                )}
              </li>
            )
          })}
        </ul>
        {mayChange && (
          <form
            className="flex flex-wrap items-end gap-3"
            onSubmit={(event) => {
              event.preventDefault()
              const { key, value, isExclude } = values
              const selector = {
                'tag-key': key.trim(),
                'tag-value': value.trim() || null,
                'is-exclude': isExclude || set.attributes.global,
              }
              change.mutate(
                { method: 'POST', selector },
                { onSuccess: () => setValues({ key: '', value: '', isExclude: false }) },
              )
            }}
          >
            <TextField
              label="Tag"
              value={values.key}
              required
              onChange={({ target }) => setValues({ ...values, key: target.value })}
              {...CODE_INPUT}
            />
            <TextField
              label="Value (any if empty)"
              value={values.value}
              onChange={({ target }) => setValues({ ...values, value: target.value })}
              {...CODE_INPUT}
            />
            <div className="pb-1.5">
              <CheckField
                label="Exclude"
                checked={values.isExclude || set.attributes.global}
                disabled={set.attributes.global}
                onChange={({ target }) => setValues({ ...values, isExclude: target.checked })}
              />
            </div>
            <Button label="Add tag" type="submit" icon={Plus} isPending={change.isPending} />
          </form>
        )}
        {change.error && <ErrorNote error={change.error} />}
      </div>
    </Card>
  )
}
