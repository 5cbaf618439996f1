import { Link } from '@tanstack/react-router'
import { ChevronsDownUp, ChevronsUpDown, CircleCheck } from 'lucide-react'
import { useCallback, useDeferredValue, useMemo, useState } from 'react'
import { AttributeDiff } from '../../../components/attribute-diff.tsx'
import { Button } from '../../../components/button.tsx'
import { Card } from '../../../components/card.tsx'
import { EmptyState, Notice } from '../../../components/feedback.tsx'
import { type Chip, FilterChips, SearchField } from '../../../components/filters.tsx'
import { counted } from '../../../components/numbers.ts'
import { Diagnostics, type PhaseDiagnostic } from '../log/diagnostics.tsx'
import { hasEnded } from '../log/log-store.ts'
import { runRoute, useRunSearch } from '../run-navigation.tsx'
import { type Apply, type RunDocument, useVersionOutputs } from '../run.ts'
import { applySummary, isFinished, outputChanges, unknownValueText, useApplyProgress } from './apply-progress.ts'
import { CHANGE_STYLE, ChangeRows, DRIFT_STYLE } from './change-rows.tsx'
import { CHANGE_KINDS, type PlanModel, type ResourceChange } from './plan-model.ts'

type PlannedChangesProps = Pick<RunDocument, 'apply' | 'workspace'> & {
  model: PlanModel
  diagnostics: readonly PhaseDiagnostic[]
}

/** The changes of a plan to resources and outputs, and the drift it found. */
export function PlannedChanges({ model, apply, workspace, diagnostics }: PlannedChangesProps) {
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
  const isEmpty = model.resources.length + model.outputs.length + model.drift.length === 0
  const isAllExpanded = shown.length > 0 && shown.every(({ key }) => expanded.has(key))

  return (
    <div className="space-y-3">
      <Diagnostics diagnostics={otherDiagnostics} />
      <PlanNotice model={model} isApplied={isApplied} />
      {apply && progress && (
        // Only the end is announced, since the counts change with each resource.
        <p role="status" aria-live={hasEnded(apply) ? 'polite' : 'off'} className="font-medium">
          {applySummary(model.resources, progress.progressOf, apply)}
          {applied.link && (
            <>
              {'. '}
              <Link {...applied.link} className="text-accent underline">
                View state
              </Link>
            </>
          )}
        </p>
      )}
      {isEmpty ? (
        <EmptyState icon={CircleCheck} title="No changes">
          <p>The infrastructure matches the configuration.</p>
        </EmptyState>
      ) : (
        <div className="flex flex-wrap items-center gap-2">
          <FilterChips
            label="Filter by action"
            chips={chipsOf(model)}
            chosen={kinds}
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
                onClick={() => setExpanded(isAllExpanded ? new Set() : new Set(shown.map(({ key }) => key)))}
              >
                {isAllExpanded ? 'Collapse all' : 'Expand all'}
              </Button>
            )}
          </div>
        </div>
      )}
      {!isEmpty && shown.length + outputs.length === 0 && (
        <EmptyState title="No matching changes">
          <Button onClick={() => setSearch({ q: undefined, only: undefined })}>Clear filters</Button>
        </EmptyState>
      )}
      {resources.length > 0 && (
        <Card title={countTitle(resources, model.resources)} isFlush>
          <ChangeRows
            label="Resource changes"
            changes={resources}
            expanded={expanded}
            onToggle={toggle}
            progressOf={progress?.progressOf}
            diagnosticsOf={({ address }) => byAddress.get(address) ?? NO_DIAGNOSTICS}
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
        <Card
          title="Drift"
          about={
            isApplied
              ? 'Changes made outside of runs before this one. The apply reverted them where planned.'
              : 'Changes made outside of runs since the previous one. An apply reverts them where planned.'
          }
          isFlush
        >
          <ChangeRows label="Drift" changes={drift} expanded={expanded} onToggle={toggle} />
        </Card>
      )}
    </div>
  )
}

const NO_DIAGNOSTICS: readonly PhaseDiagnostic[] = []

/** "12 resources" or "3 of 12 resources". */
function countTitle(shown: readonly ResourceChange[], all: readonly ResourceChange[]) {
  const text = counted(all.length, 'resource')
  return shown.length === all.length ? text : `${shown.length.toLocaleString('en')} of ${text}`
}

/**
 * The state that the apply stored, if the user may read it: its link, and its first 100 outputs if the plan left values
 * unknown. A failed apply may not have updated the outputs.
 */
function useAppliedState({ model, apply, workspace }: Pick<PlannedChangesProps, 'model' | 'apply' | 'workspace'>) {
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

/** Explains a plan without resource changes. */
function PlanNotice({ model: { resources, outputs, drift }, isApplied }: { model: PlanModel; isApplied: boolean }) {
  if (resources.length > 0) return null
  if (outputs.length > 0) return <Notice>{isApplied ? 'Only outputs changed.' : 'Only outputs change.'}</Notice>
  if (drift.length === 0) return null
  return (
    <Notice>
      {isApplied
        ? 'Only drift: the state was updated to match the infrastructure.'
        : 'Only drift: an apply updates the state to match the infrastructure.'}
    </Notice>
  )
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
