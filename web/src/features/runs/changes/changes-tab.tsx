import { Link } from '@tanstack/react-router'
import { ChevronsDownUp, ChevronsUpDown, CircleCheck, Hourglass, ScrollText } from 'lucide-react'
import { useCallback, useDeferredValue, useMemo, useState } from 'react'
import { failureOf } from '../../../api/queries.ts'
import { AttributeDiff } from '../../../components/attribute-diff.tsx'
import { Button, buttonClass } from '../../../components/button.tsx'
import { Card } from '../../../components/card.tsx'
import { CopyCurl } from '../../../components/copy-curl.tsx'
import { EmptyState, ErrorNote, Notice, Skeleton } from '../../../components/feedback.tsx'
import { type Chip, FilterChips, SearchField } from '../../../components/filters.tsx'
import { counted } from '../../../components/numbers.ts'
import { type PhaseDiagnostic, RunDiagnostics, useDiagnostics } from '../log/diagnostics.tsx'
import { hasEnded, hasLog, hasStarted, retentionText } from '../log/log-store.ts'
import { missingLogReason } from '../log/log-tab.tsx'
import { stopOf } from '../run-events.ts'
import { runRoute, TabLink, useRunSearch } from '../run-navigation.tsx'
import { type Apply, type Plan, type Run, type RunDocument, useVersionOutputs } from '../run.ts'
import { applySummary, isFinished, outputChanges, unknownValueText, useApplyProgress } from './apply-progress.ts'
import { CHANGE_STYLE, ChangeRows, DRIFT_STYLE } from './change-rows.tsx'
import type { PlanModel, ResourceChange } from './plan-model.ts'
import { CHANGE_KINDS, isPlanPending, unavailableReason, usePlanModel } from './plan-model.ts'

export function ChangesTab({ document }: { document: RunDocument }) {
  const { run, plan, apply } = document
  const isAvailable = plan !== undefined && hasEnded(plan) && plan.attributes['json-deleted-at'] === null
  const model = usePlanModel(plan?.id, isAvailable)
  const diagnostics = useDiagnostics(plan, apply)
  if (!plan) return <Skeleton />
  if (!hasEnded(plan)) {
    const [title, text] = hasStarted(plan)
      ? ['Plan running', 'The changes appear here when the plan finishes. See the log for its progress.']
      : ['Plan pending', 'No agent has started the plan. The changes appear here when it finishes.']
    return <EmptyState icon={Hourglass} title={title} text={text} actions={<OpenLogLink />} />
  }
  if (isAvailable && model.isPending) {
    if (!isPlanPending(model.failureReason)) return <Skeleton rows={6} label="Loading changes" />
    const text = 'The apply started before the agent had uploaded the plan. The changes appear here shortly.'
    return <EmptyState icon={Hourglass} title="Processing plan…" text={text} actions={<OpenLogLink />} />
  }
  const unavailable = isAvailable ? unavailableReason(model.error) : undefined
  const failure = isAvailable && unavailable === undefined ? failureOf(model) : undefined
  if (failure) return <ErrorNote {...failure} />
  if (isAvailable && model.data) {
    return <PlannedChanges model={model.data} {...{ document, plan, diagnostics }} />
  }
  return (
    <div className="space-y-3">
      <RunDiagnostics {...{ document, diagnostics }} />
      <EmptyState
        title={unavailable === undefined ? 'No changes to show' : 'Changes unavailable'}
        text={unavailable ?? missingPlanReason(plan, run)}
        actions={hasLog(plan) && <OpenLogLink />}
      />
    </div>
  )
}

function missingPlanReason(plan: Plan, run: Run) {
  if (!hasStarted(plan)) return missingLogReason('plan', plan, run)
  const { status, 'json-deleted-at': deletedAt } = plan.attributes
  if (status === 'errored') return `The plan failed.${hasLog(plan) ? ' See the log for details.' : ''}`
  if (status === 'canceled') return 'The plan was canceled.'
  if (deletedAt !== null) return `The plan data ${retentionText(plan, deletedAt)}.`
  return 'The plan has no structured data. See the log for its output.'
}

function OpenLogLink() {
  return (
    <TabLink search={{ part: 'log', phase: 'plan' }} isMerged className={buttonClass()}>
      <ScrollText size={16} />
      Open log
    </TabLink>
  )
}

type PlannedChangesProps = {
  document: RunDocument
  plan: Plan
  model: PlanModel
  diagnostics: readonly PhaseDiagnostic[]
}

function PlannedChanges({ document, plan, model, diagnostics }: PlannedChangesProps) {
  const { apply, workspace } = document
  const [{ q = '', only = '' }, setSearch] = useRunSearch()
  const kinds = useMemo(() => new Set(only === '' ? [] : only.split(',')), [only])
  const query = useDeferredValue(q).toLowerCase()
  const [expanded, setExpanded] = useState<ReadonlySet<string>>(new Set())
  const toggle = useCallback((key: string) => setExpanded((before) => before.symmetricDifference(new Set([key]))), [])
  const byAddress = useMemo(() => Map.groupBy(diagnostics, ({ address }) => address ?? ''), [diagnostics])
  const progress = useApplyProgress(apply, byAddress)
  const isApplied = apply !== undefined && isFinished(apply)
  const applied = useAppliedState({ model, apply, workspace })
  const { resources, drift, outputs } = useMemo(() => {
    const isSelected = (kind: string) => kinds.size === 0 || kinds.has(kind)
    const isMatch = ({ has }: { has: (text: string) => boolean }) => query === '' || has(query)
    return {
      resources: model.resources.filter((change) => isSelected(change.kind) && isMatch(change)),
      drift: model.drift.filter((change) => isSelected('drift') && isMatch(change)),
      outputs: model.outputs.filter((output) => kinds.size === 0 && isMatch(output)),
    }
  }, [model, kinds, query])
  const shown = [...resources, ...drift]
  const otherDiagnostics = useMemo(() => {
    const addresses = new Set(model.resources.map(({ address }) => address))
    return diagnostics.filter(({ address }) => address === undefined || !addresses.has(address))
  }, [model, diagnostics])
  const isEmpty = [model.resources, model.outputs, model.drift].every(({ length }) => length === 0)
  const isAllExpanded = shown.length > 0 && shown.every(({ key }) => expanded.has(key))

  return (
    <div className="space-y-3">
      <RunDiagnostics document={document} diagnostics={otherDiagnostics} />
      <PlanNotice model={model} isApplied={isApplied} />
      {apply && progress && (
        // Only the end is announced, since the counts change with each resource.
        <p role="status" aria-live={hasEnded(apply) ? 'polite' : 'off'} className="font-medium">
          {applySummary(model.resources, progress.progressOf, apply)}
          {applied.link && '. '}
          {applied.link && (
            <Link {...applied.link} className="text-accent underline">
              View state
            </Link>
          )}
        </p>
      )}
      {isEmpty ? (
        <EmptyState icon={CircleCheck} title="No changes" text="The infrastructure matches the configuration." />
      ) : (
        <div className="flex flex-wrap items-center gap-2">
          <FilterChips
            label="Filter by action"
            chips={chipsOf(model)}
            selected={kinds}
            onToggle={(kind) =>
              setSearch({ only: [...kinds.symmetricDifference(new Set([kind]))].join(',') || undefined })
            }
          />
          <div className="flex min-w-0 flex-1 basis-80 items-center justify-end gap-2">
            <SearchField
              label="Search changes"
              placeholder="Address or value"
              value={q}
              onChange={(value) => setSearch({ q: value || undefined })}
              className="min-w-0 flex-1 sm:max-w-64"
            />
            {shown.length > 0 && (
              <Button
                icon={isAllExpanded ? ChevronsDownUp : ChevronsUpDown}
                label={isAllExpanded ? 'Collapse all' : 'Expand all'}
                onClick={() => setExpanded(new Set(isAllExpanded ? [] : shown.map(({ key }) => key)))}
              />
            )}
          </div>
        </div>
      )}
      {!isEmpty && shown.length + outputs.length === 0 && (
        <EmptyState
          title="No changes match"
          actions={<Button label="Clear filters" onClick={() => setSearch({ q: undefined, only: undefined })} />}
        />
      )}
      {resources.length > 0 && (
        <Card title={countTitle(resources, model.resources)} isFlush>
          <ChangeRows
            label="Resource changes"
            changes={resources}
            expanded={expanded}
            onToggle={toggle}
            progressOf={progress?.progressOf}
            diagnosticsOf={({ address }) => byAddress.get(address)}
            isInterrupted={stopOf(document) !== undefined}
          />
        </Card>
      )}
      {outputs.length > 0 && (
        <Card title="Outputs" isFlush>
          <AttributeDiff
            label="Output changes"
            changes={outputChanges(outputs, applied.outputs)}
            unknownText={unknownValueText(apply && outputProgress(apply))}
          />
        </Card>
      )}
      {drift.length > 0 && (
        <Card title="Drift" about={DRIFT_TEXTS[isApplied ? 'applied' : 'planned']} isFlush>
          <ChangeRows label="Drift" changes={drift} expanded={expanded} onToggle={toggle} />
        </Card>
      )}
      <div className="flex justify-end">
        <CopyCurl path={`/plans/${plan.id}/json-output-redacted`} />
      </div>
    </div>
  )
}

const DRIFT_TEXTS = {
  planned: 'Changes made outside of runs since the previous one. An apply reverts them where planned.',
  applied: 'Changes made outside of runs before this one. The apply reverted them where planned.',
} as const

/** "12 resources" or "3 of 12 resources". */
function countTitle(shown: readonly ResourceChange[], all: readonly ResourceChange[]) {
  const text = counted(all.length, 'resource')
  return shown.length === all.length ? text : `${shown.length.toLocaleString('en')} of ${text}`
}

/** The stored state, if readable: its link, and its first 100 outputs if the apply succeeded and the plan left any unknown. */
function useAppliedState({ model, apply, workspace }: Pick<RunDocument, 'apply' | 'workspace'> & { model: PlanModel }) {
  const version = apply && hasEnded(apply) ? apply.relationships['state-versions'].data.at(-1)?.id : undefined
  const { permissions, name } = workspace?.attributes ?? {}
  const needsOutputs =
    apply !== undefined &&
    isFinished(apply) &&
    permissions?.['can-read-state-outputs'] === true &&
    model.outputs.some(({ isUnknown }) => isUnknown)
  const { data } = useVersionOutputs(needsOutputs ? version : undefined, 1)
  const { organization } = runRoute.useParams()
  if (permissions?.['can-read-state-versions'] !== true || version === undefined || name === undefined) {
    return { outputs: data?.data, link: undefined }
  }
  const to = '/app/$organization/workspaces/$workspace/states' as const
  return { outputs: data?.data, link: { to, params: { organization, workspace: name }, search: { version } } }
}

/** The engine sets outputs at the end of an apply. */
function outputProgress(apply: Apply) {
  if (!hasEnded(apply)) return undefined
  return isFinished(apply) ? 'done' : 'skipped'
}

function PlanNotice({ model: { resources, outputs, drift }, isApplied }: { model: PlanModel; isApplied: boolean }) {
  if (resources.length > 0) return null
  if (outputs.length > 0) return <Notice>{isApplied ? 'Only outputs changed.' : 'Only outputs change.'}</Notice>
  if (drift.length === 0) return null
  const effect = isApplied ? 'the state was updated' : 'an apply updates the state'
  return <Notice>{`Only drift: ${effect} to match the infrastructure.`}</Notice>
}

/** Kinds with a chip even if their count is 0. */
const PERMANENT_CHIPS = new Set<string>(['create', 'update', 'replace', 'destroy'])

function chipsOf({ resources, drift }: PlanModel): Chip[] {
  const counts = Map.groupBy(resources, ({ kind }) => kind)
  const chips = CHANGE_KINDS.map((kind) => {
    const { text, icon, tone } = CHANGE_STYLE[kind]
    return { value: kind, text, count: counts.get(kind)?.length ?? 0, tone, icon }
  })
  return [
    ...chips.filter(({ value, count }) => count > 0 || PERMANENT_CHIPS.has(value)),
    ...(drift.length > 0 ? [{ value: 'drift', text: 'drift', count: drift.length, ...DRIFT_STYLE }] : []),
  ]
}
