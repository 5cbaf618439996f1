import { getRouteApi, Link } from '@tanstack/react-router'
import { ChevronsDownUp, ChevronsUpDown, CircleCheck } from 'lucide-react'
import { useCallback, useDeferredValue, useMemo, useState } from 'react'
import { AttributeDiff } from '../../../components/attribute-diff.tsx'
import { Button } from '../../../components/button.tsx'
import { Card } from '../../../components/card.tsx'
import { EmptyState, Notice } from '../../../components/feedback.tsx'
import { type Chip, FilterChips, SearchField } from '../../../components/filters.tsx'
import { counted } from '../../../components/numbers.ts'
import { useVersionOutputs } from '../../states/states.ts'
import { Diagnostics } from '../log/diagnostics.tsx'
import type { RunPartProps } from '../log/log-part.tsx'
import { isOver } from '../log/log-store.ts'
import type { PhaseDiagnostic } from '../log/use-diagnostics.ts'
import type { RunDocument } from '../run.ts'
import { outputChanges } from './applied-outputs.ts'
import { appliedWords } from './applied-words.ts'
import { DRIFT_LOOK, KIND_LOOKS } from './change-kind.ts'
import { ChangeRows } from './change-rows.tsx'
import { CHANGE_KINDS, type PlanModel, type ResourceChange } from './plan-model.ts'
import { unknownWords } from './unknown-words.ts'
import { useApplyRows } from './use-apply-rows.ts'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/runs/$run')

type PlannedChangesProps = Pick<RunPartProps, 'apply'> & {
  workspace: RunDocument['workspace']
  model: PlanModel
  diagnostics: readonly PhaseDiagnostic[]
}

/** The changes of a plan: those of resources, those of outputs, and what has changed outside. */
export function PlannedChanges({ model, apply, workspace, diagnostics }: PlannedChangesProps) {
  const { q = '', only = '' } = route.useSearch()
  const navigate = route.useNavigate()
  const chosen = useMemo(() => new Set(only === '' ? [] : only.split(',')), [only])
  const searched = useDeferredValue(q).toLowerCase()
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  const toggle = useCallback((key: string) => setOpened((before) => before.symmetricDifference(new Set([key]))), [])
  const byAddress = useMemo(() => Map.groupBy(diagnostics, ({ address }) => address ?? ''), [diagnostics])
  const applied = useApplyRows(apply, byAddress)
  const isApplied = apply?.attributes.status === 'finished'
  const stored = useStored({ model, apply, workspace })
  const resources = useMemo(
    () =>
      model.resources.filter(
        (change) => (chosen.size === 0 || chosen.has(change.kind)) && (searched === '' || change.has(searched)),
      ),
    [model, chosen, searched],
  )
  const drift = useMemo(
    () =>
      model.drift.filter(
        (change) => (chosen.size === 0 || chosen.has('drift')) && (searched === '' || change.has(searched)),
      ),
    [model, chosen, searched],
  )
  const outputs = useMemo(
    () => model.outputs.filter((output) => chosen.size === 0 && (searched === '' || output.has(searched))),
    [model, chosen, searched],
  )
  const shown = [...resources, ...drift]
  const others = useMemo(() => {
    const known = new Set(model.resources.map(({ address }) => address))
    return diagnostics.filter(({ address }) => address === undefined || !known.has(address))
  }, [model, diagnostics])
  const isEmpty = model.resources.length + model.outputs.length + model.drift.length === 0
  const isAllOpen = shown.length > 0 && shown.every(({ key }) => opened.has(key))

  function filterBy(kinds: ReadonlySet<string>) {
    const value = [...kinds].join(',')
    void navigate({
      search: (before) => ({ ...before, only: value === '' ? undefined : value }),
      replace: true,
      resetScroll: false,
    })
  }

  return (
    <div className="space-y-3">
      <Diagnostics diagnostics={others} />
      <Remark model={model} isApplied={isApplied} />
      {apply && applied && (
        // Only its end is announced: the count changes with each resource.
        <p role="status" aria-live={isOver(apply) ? 'polite' : 'off'} className="font-medium">
          {appliedWords(model.resources, applied.progressOf, apply)}
          {stored.link && (
            <>
              {'. '}
              <Link {...stored.link} className="text-accent underline">
                See the state
              </Link>
            </>
          )}
        </p>
      )}
      {isEmpty ? (
        <EmptyState icon={CircleCheck} title="Nothing to change">
          <p>The infrastructure is as the configuration says.</p>
        </EmptyState>
      ) : (
        <div className="flex flex-wrap items-center gap-2">
          <FilterChips
            label="Kinds of changes"
            chips={chipsOf(model)}
            chosen={chosen}
            onToggle={(value) => filterBy(chosen.symmetricDifference(new Set([value])))}
          />
          <div className="flex min-w-0 flex-1 basis-80 items-center justify-end gap-2">
            <SearchField
              label="Search the changes"
              placeholder="Address or value"
              value={q}
              onChange={(value) =>
                void navigate({
                  search: (before) => ({ ...before, q: value === '' ? undefined : value }),
                  replace: true,
                  resetScroll: false,
                })
              }
              className="min-w-0 flex-1 sm:max-w-64"
            />
            {shown.length > 0 && (
              <Button
                icon={isAllOpen ? ChevronsDownUp : ChevronsUpDown}
                onClick={() => setOpened(isAllOpen ? new Set() : new Set(shown.map(({ key }) => key)))}
              >
                {isAllOpen ? 'Close all' : 'Open all'}
              </Button>
            )}
          </div>
        </div>
      )}
      {!isEmpty && shown.length + outputs.length === 0 && (
        <EmptyState title="No change fits">
          <Button
            onClick={() =>
              void navigate({
                search: (before) => ({ ...before, q: undefined, only: undefined }),
                replace: true,
                resetScroll: false,
              })
            }
          >
            Show all changes
          </Button>
        </EmptyState>
      )}
      {resources.length > 0 && (
        <Card title={ofAll(resources, model.resources)} isFlush>
          <ChangeRows
            label="Changes of resources"
            changes={resources}
            opened={opened}
            onToggle={toggle}
            progressOf={applied?.progressOf}
            diagnosticsOf={({ address }) => byAddress.get(address) ?? NONE}
          />
        </Card>
      )}
      {outputs.length > 0 && (
        <Card title="Outputs" isFlush>
          <AttributeDiff
            label="Changes of outputs"
            changes={outputChanges(outputs, stored.outputs)}
            unknownText={unknownWords(apply && progressOfOutputs(apply))}
          />
        </Card>
      )}
      {drift.length > 0 && (
        <Card
          title="Drift"
          about={
            isApplied
              ? 'What had been changed outside since the run before. The apply has put it back where the plan said so.'
              : 'What was changed outside since the last run. An apply puts it back where the plan says so.'
          }
          isFlush
        >
          <ChangeRows label="Drift" changes={drift} opened={opened} onToggle={toggle} />
        </Card>
      )}
    </div>
  )
}

const NONE: readonly PhaseDiagnostic[] = []

function ofAll(shown: readonly ResourceChange[], all: readonly ResourceChange[]) {
  const text = counted(all.length, 'resource')
  return shown.length === all.length ? text : `${shown.length.toLocaleString('en')} of ${text}`
}

/**
 * The state that the apply of a run has stored, for those who may read it: a link, and its outputs where the plan left values
 * open. Outputs beyond the first hundred are in the state alone; a failed apply may have left them as they were.
 */
function useStored({ model, apply, workspace }: Pick<PlannedChangesProps, 'model' | 'apply' | 'workspace'>) {
  const version = apply && isOver(apply) ? apply.relationships['state-versions'].data.at(-1)?.id : undefined
  const { permissions, name } = workspace?.attributes ?? {}
  const hasOpenValues =
    apply?.attributes.status === 'finished' &&
    permissions?.['can-read-state-outputs'] === true &&
    model.outputs.some(({ isUnknown }) => isUnknown)
  const { data } = useVersionOutputs(hasOpenValues ? version : undefined, 1)
  const { organization } = route.useParams()
  const hasLink = permissions?.['can-read-state-versions'] === true && version !== undefined && name !== undefined
  return {
    outputs: data?.data,
    link: hasLink
      ? {
          to: '/app/$organization/workspaces/$workspace/states' as const,
          params: { organization, workspace: name },
          search: { version },
        }
      : undefined,
  }
}

/** How far an apply is with the outputs, which it makes at its end. */
function progressOfOutputs(apply: NonNullable<RunPartProps['apply']>) {
  if (!isOver(apply)) return undefined
  return apply.attributes.status === 'finished' ? 'done' : 'left'
}

/** What is unusual about a plan as a whole. */
function Remark({ model: { resources, outputs, drift }, isApplied }: { model: PlanModel; isApplied: boolean }) {
  if (resources.length > 0) return null
  if (outputs.length > 0)
    return (
      <Notice>
        {isApplied ? 'Only outputs changed. No resource was touched.' : 'Only outputs change. No resource is touched.'}
      </Notice>
    )
  if (drift.length > 0) {
    return (
      <Notice>
        {isApplied
          ? 'Nothing was to be changed, but something had been changed outside: the state has taken that in.'
          : 'Nothing is to be changed, but something was changed outside: the state takes that in.'}
      </Notice>
    )
  }
  return null
}

/** The kinds that people look for are there even with none of them; others as they come. */
const ALWAYS = new Set<string>(['create', 'update', 'replace', 'destroy'])

function chipsOf({ resources, drift }: PlanModel): Chip[] {
  const counts = Map.groupBy(resources, ({ kind }) => kind)
  const kinds = CHANGE_KINDS.map((kind) => {
    const { word, icon, tone } = KIND_LOOKS[kind]
    return { value: kind, text: word, count: counts.get(kind)?.length ?? 0, tone, icon }
  })
  return [
    ...kinds.filter(({ value, count }) => count > 0 || ALWAYS.has(value)),
    ...(drift.length > 0 ? [{ value: 'drift', text: 'drift', count: drift.length, ...DRIFT_LOOK }] : []),
  ]
}
