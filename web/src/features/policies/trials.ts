import type { policyTrialRunSchema, policyTrialSchema } from '@groundstate/contract/policy-trials'
import type { PageOnWire, Wire } from '@groundstate/contract/responses'
import { useQuery } from '@tanstack/react-query'
import { get, queryString, request } from '../../api/client.ts'
import { keepWithin, useChange } from '../../api/queries.ts'
import { counted } from '../../components/numbers.ts'
import { OUTCOME_STYLE, type StatusStyle } from '../../components/status.tsx'

export type Trial = Wire<typeof policyTrialSchema>
export type TrialRun = Wire<typeof policyTrialRunSchema>

const TRIALS = 'policy-trials'
const LISTED = 10

/** The latest trials of a set. */
export function useTrials(organization: string, set: string) {
  return useQuery({
    queryKey: [TRIALS, organization, set],
    queryFn: async ({ signal }) =>
      get<PageOnWire<typeof policyTrialSchema>>(`/policy-sets/${set}/policy-trials?page[size]=${LISTED}`, signal),
  })
}

/** The results of a trial that did not pass. */
export function useTrialRuns(organization: string, trial: string, page: number) {
  const query = queryString({ 'filter[status]': 'stopped,errored,warned', 'page[size]': 20, 'page[number]': page })
  return useQuery({
    queryKey: [TRIALS, organization, trial, 'runs', page],
    queryFn: async ({ signal }) =>
      get<PageOnWire<typeof policyTrialRunSchema>>(`/policy-trials/${trial}/runs${query}`, signal),
    placeholderData: keepWithin(organization),
  })
}

/** Evaluates a set against the runs of the last 30 days. */
export function useStartTrial(set: string) {
  return useChange(async () => request('POST', `/policy-sets/${set}/policy-trials`), [TRIALS])
}

export function useCancelTrial() {
  return useChange(async (trial: string) => request('POST', `/policy-trials/${trial}/actions/cancel`), [TRIALS])
}

export function isOpen({ attributes: { status } }: Trial) {
  return status === 'pending' || status === 'running'
}

type Counts = Trial['attributes']['run-counts']

/** "2 would be stopped, 1 warning, 5 passed"; empty without results. */
export function countsText({ stopped, errored, warned, passed }: Counts) {
  return [
    stopped > 0 && `${stopped.toLocaleString('en')} would be stopped`,
    errored > 0 && `${errored.toLocaleString('en')} not evaluated`,
    warned > 0 && counted(warned, 'warning'),
    passed > 0 && `${passed.toLocaleString('en')} passed`,
  ]
    .filter(Boolean)
    .join(', ')
}

/** "3 older runs, 1 run without a plan": the runs that are left out; empty for none. */
export function omittedText({ unreadable, 'without-plan': planless, older }: Trial['attributes']['omitted-runs']) {
  return [
    older > 0 && counted(older, 'older run'),
    planless > 0 && `${counted(planless, 'run')} without a plan`,
    unreadable > 0 && `${counted(unreadable, 'run')} whose plan you may not read`,
  ]
    .filter(Boolean)
    .join(', ')
}

const TRIAL_STATES: Record<Trial['attributes']['status'], StatusStyle & { text: string }> = {
  pending: { ...OUTCOME_STYLE.waiting, text: 'waiting for upload' },
  running: { ...OUTCOME_STYLE.running, text: 'evaluating' },
  finished: { ...OUTCOME_STYLE.done, text: 'finished' },
  errored: { ...OUTCOME_STYLE.failed, text: 'errored' },
  canceled: { ...OUTCOME_STYLE.stopped, text: 'canceled' },
}

export function trialStyle({ attributes: { status } }: Trial) {
  return TRIAL_STATES[status]
}

export const RESULT_STYLE: Record<TrialRun['attributes']['status'], StatusStyle & { text: string }> = {
  pending: { ...OUTCOME_STYLE.waiting, text: 'waiting' },
  passed: { ...OUTCOME_STYLE.done, text: 'passed' },
  warned: { ...OUTCOME_STYLE.warning, text: 'warning' },
  stopped: { ...OUTCOME_STYLE.failed, text: 'would be stopped' },
  errored: { ...OUTCOME_STYLE.failed, text: 'not evaluated' },
}
