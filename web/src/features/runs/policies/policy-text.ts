import { counted } from '../../../components/numbers.ts'
import { OUTCOME_STYLE, type StatusStyle } from '../../../components/status.tsx'
import type { PolicyEvaluation } from '../run.ts'

type Evaluation = PolicyEvaluation['attributes']

export const POLICY_STYLE = {
  passed: OUTCOME_STYLE.done,
  failed: OUTCOME_STYLE.failed,
  errored: OUTCOME_STYLE.failed,
  advisory: OUTCOME_STYLE.warning,
} as const satisfies Record<string, StatusStyle>

const EVALUATION_STYLE: Record<Evaluation['status'], StatusStyle & { text: string }> = {
  pending: { ...OUTCOME_STYLE.waiting, text: 'pending' },
  running: { ...OUTCOME_STYLE.running, text: 'evaluating' },
  passed: { ...OUTCOME_STYLE.done, text: 'passed' },
  failed: { ...OUTCOME_STYLE.failed, text: 'failed' },
  overridden: { ...OUTCOME_STYLE.warning, text: 'overridden' },
  errored: { ...OUTCOME_STYLE.failed, text: 'errored' },
  canceled: { ...OUTCOME_STYLE.stopped, text: 'canceled' },
  unreachable: { ...OUTCOME_STYLE.skipped, text: 'not reached' },
}

/** The status of an evaluation; one that passed despite an advisory failure is a warning. */
export function evaluationStyle({ status, 'result-count': counts }: Pick<Evaluation, 'status' | 'result-count'>) {
  if (status === 'passed' && counts['advisory-failed'] > 0)
    return { ...OUTCOME_STYLE.warning, text: counted(counts['advisory-failed'], 'advisory failure') }
  return EVALUATION_STYLE[status]
}

/** "3 passed, 1 mandatory failed"; empty without results. */
export function resultText(counts: Evaluation['result-count']) {
  const texts = [
    ['mandatory-failed', 'mandatory failed'],
    ['advisory-failed', 'advisory failed'],
    ['errored', 'errored'],
    ['passed', 'passed'],
  ] as const
  return texts
    .filter(([name]) => counts[name] > 0)
    .map(([name, text]) => `${counts[name].toLocaleString('en')} ${text}`)
    .join(', ')
}
