import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { runTriggerSchema, triggerChainSchema } from '@groundstate/contract/run-triggers'
import { useQuery } from '@tanstack/react-query'
import { CircleSlash, Clock, Plus, Unplug, Zap } from 'lucide-react'
import { useState } from 'react'
import { get, getData, queryString } from '../../api/client.ts'
import { failureOf, keepWithin } from '../../api/queries.ts'
import { Card, CardList, DescriptionList } from '../../components/card.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState, ErrorNote, Notice, Skeleton } from '../../components/feedback.tsx'
import { CheckField } from '../../components/form.tsx'
import { TargetLink } from '../../components/links.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { Pager } from '../../components/pager.tsx'
import { Picker } from '../../components/picker.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import { StatusText } from '../../components/status.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { RunLink } from '../runs/run-navigation.tsx'
import { useOpenWorkspace, useUpdateWorkspace } from '../workspaces/workspace.ts'
import { findWorkspaces } from '../workspaces/workspaces.ts'
import { type RunTrigger, useAddTrigger, useDependencyGraph } from './run-triggers.ts'
import { TriggersLink, removal } from './trigger-list.tsx'

type TriggerChain = Wire<typeof triggerChainSchema>['attributes']

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
          the workspaces that build on it plan again. <DocsLink page="chain-workspaces">Chain workspaces</DocsLink>
        </p>
        {!add && <p>Adding a run trigger requires admin access to the workspace.</p>}
      </EmptyState>
    )
  return (
    <div className="space-y-4">
      <p>
        <TargetLink
          leadsTo={{
            to: '/app/$organization/run-triggers',
            params: { organization },
            search: { q: workspace.attributes.name },
          }}
          className="text-accent underline"
        >
          Show in the graph
        </TargetLink>
      </p>
      {cycle.length > 0 && (
        <Notice tone="warn">
          This workspace is in a cycle with {cycle.join(', ')}. Such a chain ends after 25 runs. To end it earlier,
          require approval in one of the workspaces, or trigger only on changed outputs.
        </Notice>
      )}
      <div className="grid items-start gap-4 lg:grid-cols-2">
        <Card title="Source workspaces" about="Each apply in one of these starts a run here." actions={add} isFlush>
          <CardList items={sources} none="None. Runs here start only from the UI, the CLI or the API.">
            {(trigger) => <Source key={trigger.id} trigger={trigger} />}
          </CardList>
        </Card>
        <Card title="Destination workspaces" about="Each apply here starts a run in these." isFlush>
          <CardList items={destinations} none="None. Add a trigger in the destination workspace.">
            {(trigger) => (
              <li key={trigger.id} className="flex items-center gap-3 px-4 py-2">
                <TriggersLink workspace={trigger.attributes['workspace-name']} />
              </li>
            )}
          </CardList>
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

function Source({ trigger }: { trigger: RunTrigger }) {
  const { workspace } = useOpenWorkspace()
  const { name, permissions } = workspace.attributes
  const source = trigger.attributes['sourceable-name']
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 px-4 py-2">
      <TriggersLink workspace={source} />
      <span className="text-dim max-sm:hidden">
        added <RelativeTime at={trigger.attributes['created-at']} />
      </span>
      {permissions['can-update'] && (
        <RowMenu
          label={`Actions for the trigger from ${source}`}
          actions={[
            {
              text: 'Remove',
              icon: Unplug,
              confirm: removal({ id: trigger.id, source, destination: name }),
            },
          ]}
        />
      )}
    </li>
  )
}

function AddSource({ sources }: { sources: readonly RunTrigger[] }) {
  const { organization, workspace } = useOpenWorkspace()
  const add = useAddTrigger()
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
        load={findWorkspaces(organization, known.union(new Set([workspace.id])))}
        onChoose={({ value, text }) =>
          add.mutate(
            { workspaceId: workspace.id, sourceId: value },
            { onSuccess: () => toast({ text: `Applies in ${text} now start runs here` }) },
          )
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

/** Attribute, label and hint. */
const FLAGS = [
  [
    'auto-apply-run-trigger',
    'Auto-apply triggered runs',
    'The chain continues automatically: each apply here fires this workspace’s own triggers.',
  ],
  [
    'trigger-only-on-output-change',
    'Only when outputs have changed',
    'An apply of a source starts a run only if it changed outputs that this workspace reads.',
  ],
] as const

function TriggerSettings() {
  const { organization, workspace } = useOpenWorkspace()
  const { attributes } = workspace
  const update = useUpdateWorkspace(organization)
  const draft = useDraft({
    'auto-apply-run-trigger': attributes['auto-apply-run-trigger'],
    'trigger-only-on-output-change': attributes['trigger-only-on-output-change'],
  })
  const facts = FLAGS.map(([name, label]) => [label, attributes[name] ? 'Yes' : 'No'] as const)
  return (
    <SettingsForm
      title="Triggered runs"
      readOnly={!attributes.permissions['can-update'] && <DescriptionList facts={facts} />}
      names={FLAGS.map(([name]) => name)}
      draft={draft}
      onSave={async () => update.mutateAsync({ id: workspace.id, attributes: draft.changed })}
    >
      {FLAGS.map(([name, label, hint]) => (
        <CheckField key={name} label={label} hint={hint} {...draft.check(name)} />
      ))}
    </SettingsForm>
  )
}

const STATES = {
  waiting: { text: 'waiting', tone: 'warn', icon: Clock },
  fired: { text: 'started a run', tone: 'good', icon: Zap },
  skipped: { text: 'skipped', tone: 'quiet', icon: CircleSlash },
} as const

/** The triggers of the current run's chain, with reasons for those that started no run. */
function ChainCard() {
  const { workspace } = useOpenWorkspace()
  const chain = useTriggerChain(workspace.relationships['current-run'].data?.id)
  const failure = failureOf(chain)
  if (failure)
    return (
      <Card title="Recent activity">
        <ErrorNote {...failure} />
      </Card>
    )
  if (!chain.data || chain.data.firings.length === 0) return null
  const { firings, truncated } = chain.data
  return (
    <Card title="Recent activity" about="The chain of triggered runs that includes the current run." isFlush>
      <ul className="divide-y divide-line border-t border-line">
        {firings.map((firing, index) => (
          // oxlint-disable-next-line react/no-array-index-key -- skipped firings have no id
          <Firing key={`${firing['source-run-id']} ${index}`} firing={firing} chain={chain.data} />
        ))}
      </ul>
      {truncated && <p className="border-t border-line px-4 py-2 text-dim">Only part of the chain is shown.</p>}
    </Card>
  )
}

function Firing({ firing, chain }: { firing: TriggerChain['firings'][number]; chain: TriggerChain }) {
  const { text, tone, icon } = STATES[firing.status]
  const source = chain.runs.find(({ id }) => id === firing['source-run-id'])
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2">
      <span className="min-w-0 flex-1 basis-64">
        <MaybeRun id={firing['source-run-id']} workspace={source?.['workspace-name'] ?? null} /> →{' '}
        <MaybeRun id={firing['run-id']} workspace={firing['workspace-name']} />
        {firing.reason !== null && <span className="block text-dim">{firing.reason}</span>}
      </span>
      <StatusText tone={tone} icon={icon} text={text} />
      <span className="text-dim">
        <RelativeTime at={firing['decided-at'] ?? firing['created-at']} />
      </span>
    </li>
  )
}

/** The workspace's name, linked to the run if the user may see it. */
function MaybeRun({ id, workspace }: { id: string | null; workspace: string | null }) {
  if (workspace === null) return 'a workspace you can’t see'
  return id === null ? (
    workspace
  ) : (
    <RunLink workspace={workspace} run={{ id }} className="font-medium hover:underline">
      {workspace}
    </RunLink>
  )
}

/** The triggers that start runs in the workspace (`inbound`), or those that its applies fire (`outbound`). */
function useRunTriggers(workspaceId: string, type: 'inbound' | 'outbound', page = 1) {
  return useQuery({
    queryKey: ['run-triggers', workspaceId, type, page],
    placeholderData: keepWithin(workspaceId),
    queryFn: async () => {
      const query = queryString({ 'filter[run-trigger][type]': type, 'page[size]': 50, 'page[number]': page })
      return get<PageOnWire<typeof runTriggerSchema>>(`/workspaces/${workspaceId}/run-triggers${query}`)
    },
  })
}

function useTriggerChain(runId: string | undefined) {
  return useQuery({
    queryKey: ['runs', runId, 'trigger-chain'],
    enabled: runId !== undefined,
    queryFn: async () =>
      (await getData<DocumentOnWire<typeof triggerChainSchema>>(`/runs/${runId}/trigger-chain`)).attributes,
  })
}

/** The names of the other workspaces in the trigger cycle of the workspace, if any. */
function useCycle(organization: string, workspaceId: string, isPossible: boolean) {
  const { data } = useDependencyGraph(organization, { isEnabled: isPossible })
  const cycle = data?.workspaces.find(({ id }) => id === workspaceId)?.cycle ?? null
  if (!data || cycle === null) return []
  return data.workspaces.filter((other) => other.cycle === cycle && other.id !== workspaceId).map(({ name }) => name)
}
