import { Plus, Unplug, Zap } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { failureOf } from '../../api/queries.ts'
import { Card, DescriptionList } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { EmptyState, ErrorNote, Notice, Skeleton } from '../../components/feedback.tsx'
import { CheckField, fieldError } from '../../components/form.tsx'
import { WorkspaceLink } from '../../components/links.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { Pager } from '../../components/pager.tsx'
import { Picker } from '../../components/picker.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { SettingsForm, useDraft } from '../workspaces/settings-form.tsx'
import { useOpenWorkspace, useUpdateWorkspace } from '../workspaces/workspace.ts'
import { findWorkspaces } from '../workspaces/workspaces.ts'
import { ChainCard } from './chain-card.tsx'
import { type RunTrigger, useAddTrigger, useCycle, useRemoveTrigger, useRunTriggers } from './run-triggers.ts'

/** The server's limit per workspace. */
const MAX_SOURCES = 20

/** Workspaces whose applies start runs here, and workspaces where applies of this one start runs. */
export function TriggersTab() {
  const { organization, workspace } = useOpenWorkspace()
  const inbound = useRunTriggers(workspace.id, 'inbound')
  const [page, setPage] = useState(1)
  const outbound = useRunTriggers(workspace.id, 'outbound', page)
  const isCyclePossible = (inbound.data?.data.length ?? 0) > 0 && (outbound.data?.data.length ?? 0) > 0
  const cycle = useCycle(organization, workspace.id, isCyclePossible)

  const failure = failureOf(inbound, outbound)
  if (failure) return <ErrorNote {...failure} />
  if (!inbound.data || !outbound.data) return <Skeleton label="Loading the triggers" />
  const sources = inbound.data.data
  const destinations = outbound.data.data
  const add = workspace.attributes.permissions['can-update'] && <AddSource sources={sources} />
  if (sources.length === 0 && destinations.length === 0)
    return (
      <EmptyState icon={Zap} title="No run triggers" actions={add}>
        <p>
          With a run trigger, each apply in a source workspace starts a run in another one: when the network changes,
          the workspaces that build on it plan again.
        </p>
        {!add && <p>Adding a run trigger requires admin access to the workspace.</p>}
      </EmptyState>
    )
  return (
    <div className="space-y-4">
      {cycle.length > 0 && (
        <Notice tone="warn">
          This workspace is in a cycle with {cycle.join(', ')}. Such a chain ends after 25 runs. To end it earlier,
          require approval in one of the workspaces, or trigger only on changed outputs.
        </Notice>
      )}
      <div className="grid items-start gap-4 lg:grid-cols-2">
        <Card title="Source workspaces" about="Each apply in one of these starts a run here." actions={add} isFlush>
          <TriggerList triggers={sources} none="None. Only users and CLIs start runs here.">
            {(trigger) => <Source key={trigger.id} trigger={trigger} />}
          </TriggerList>
        </Card>
        <Card title="Destination workspaces" about="Each apply here starts a run in these." isFlush>
          <TriggerList triggers={destinations} none="None. Add a trigger in the destination workspace.">
            {(trigger) => (
              <li key={trigger.id} className="flex items-center gap-3 px-4 py-2">
                <TriggersLink workspace={trigger.attributes['workspace-name']} />
              </li>
            )}
          </TriggerList>
          <div className="px-4 pb-3 empty:hidden">
            <Pager pagination={outbound.data.meta.pagination} onPage={setPage} />
          </div>
        </Card>
      </div>
      {sources.length > 0 && <TriggerSettings />}
      <ChainCard />
    </div>
  )
}

type TriggerListProps = {
  triggers: readonly RunTrigger[]
  none: string
  children: (trigger: RunTrigger) => ReactNode
}

function TriggerList({ triggers, none, children }: TriggerListProps) {
  if (triggers.length === 0) return <p className="px-4 pb-4 text-dim">{none}</p>
  return <ul className="divide-y divide-line border-t border-line">{triggers.map(children)}</ul>
}

function TriggersLink({ workspace }: { workspace: string }) {
  const { organization } = useOpenWorkspace()
  return (
    <WorkspaceLink
      {...{ organization, workspace }}
      tab="triggers"
      className="min-w-0 flex-1 font-medium hover:underline"
    >
      {workspace}
    </WorkspaceLink>
  )
}

function Source({ trigger }: { trigger: RunTrigger }) {
  const { workspace } = useOpenWorkspace()
  const remove = useRemoveTrigger(workspace.id)
  const { name, permissions } = workspace.attributes
  const source = trigger.attributes['sourceable-name']
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 px-4 py-2">
      <TriggersLink workspace={source} />
      <span className="text-dim max-sm:hidden">
        added <RelativeTime at={trigger.attributes['created-at']} />
      </span>
      {permissions['can-update'] && (
        <Confirm
          label="Remove"
          icon={Unplug}
          size="small"
          title={`Remove the trigger from ${source}?`}
          consequence={`Applies in ${source} will no longer start runs in ${name}.`}
          action="Remove trigger"
          onConfirm={async () => {
            await remove.mutateAsync(trigger.id)
            toast({ text: `Trigger from ${source} removed` })
          }}
        />
      )}
    </li>
  )
}

function AddSource({ sources }: { sources: readonly RunTrigger[] }) {
  const { organization, workspace } = useOpenWorkspace()
  const add = useAddTrigger(workspace.id)
  const known = new Set(sources.map(({ relationships }) => relationships.sourceable.data?.id))
  const isFull = sources.length >= MAX_SOURCES
  return (
    <div>
      <Picker
        label="Add source workspace"
        icon={Plus}
        size="small"
        placeholder="Workspace name"
        reason={isFull ? `a workspace can have at most ${MAX_SOURCES} sources` : undefined}
        about={['workspaces', organization, 'sources of', workspace.id, known.size]}
        load={async (text, signal) => {
          const workspaces = await findWorkspaces({ organization, without: workspace.id }, text, signal)
          return workspaces.filter(({ value }) => !known.has(value))
        }}
        onChoose={({ value, text }) =>
          add.mutate(value, { onSuccess: () => toast({ text: `Applies in ${text} now start runs here` }) })
        }
      />
      {add.error && (
        <div className="mt-2 max-w-md text-left">
          <ErrorNote error={add.error} />
        </div>
      )}
    </div>
  )
}

const FLAGS = [
  {
    name: 'auto-apply-run-trigger',
    label: 'Auto-apply triggered runs',
    hint: 'The chain continues automatically: each apply here fires this workspace’s own triggers.',
  },
  {
    name: 'trigger-only-on-output-change',
    label: 'Only when outputs have changed',
    hint: 'An apply of a source starts a run only if it changed outputs that this workspace reads.',
  },
] as const

/** Settings of runs started by triggers. */
function TriggerSettings() {
  const { organization, workspace } = useOpenWorkspace()
  const { attributes } = workspace
  const update = useUpdateWorkspace(organization)
  const draft = useDraft({
    'auto-apply-run-trigger': attributes['auto-apply-run-trigger'],
    'trigger-only-on-output-change': attributes['trigger-only-on-output-change'],
  })
  if (!attributes.permissions['can-update'])
    return (
      <Card title="Triggered runs">
        <DescriptionList facts={FLAGS.map(({ name, label }) => [label, attributes[name] ? 'Yes' : 'No'])} />
      </Card>
    )
  return (
    <SettingsForm
      title="Triggered runs"
      names={FLAGS.map(({ name }) => name)}
      draft={draft}
      onSave={async () => update.mutateAsync({ id: workspace.id, attributes: draft.changed })}
    >
      {(error) =>
        FLAGS.map(({ name, label, hint }) => (
          <CheckField key={name} label={label} hint={hint} {...draft.check(name)} error={fieldError(error, name)} />
        ))
      }
    </SettingsForm>
  )
}
