import type { Ctx } from '../../../app.ts'
import { recognised } from '../../../terraform-state/known-values.ts'
import { readLogEnd } from '../../runs/plans/service.ts'
import { readSensitiveValues } from '../../workspaces/variable-sets/sensitive-values.ts'
import { shortened } from '../notification-configurations/content.ts'

/** The end of a log that is searched for an error, in bytes. */
const TAIL_BYTES = 256 * 1024
const MAX_LENGTH = 300
const HIDDEN = '(sensitive value)'

type Failed = { workspaceId: string; phaseId: string | null; error: string | null }

/**
 * The summary of the first error in the log of a phase that failed, or else `error`, which often has only the exit code; without sensitive values.
 * Null if there is neither.
 */
export async function readFailure(ctx: Ctx, { workspaceId, phaseId, error }: Failed): Promise<string | null> {
  try {
    const summary = (phaseId === null ? undefined : await firstError(ctx, phaseId)) ?? error
    if (summary === null || summary === '') return null
    return shortened(await withoutSensitiveValues(ctx, workspaceId, summary), MAX_LENGTH)
  } catch (cause) {
    // The notification is more important than its details. Without the sensitive values, nothing may be shown.
    ctx.log.warn({ err: cause, workspace: workspaceId }, 'the error of a run could not be read for a notification')
    return null
  }
}

async function firstError(ctx: Ctx, phaseId: string) {
  try {
    const { bytes } = await readLogEnd(ctx, phaseId, { tail: TAIL_BYTES })
    return errorIn(bytes.toString('utf8'))
  } catch (error) {
    ctx.log.warn({ err: error, phase: phaseId }, 'the log of a failed phase could not be read for a notification')
    return undefined
  }
}

// eslint-disable-next-line no-control-regex -- escape sequences of terminals, and the bytes at the ends of a log
const CONTROLS = /\u001B\[[0-9;]*m|[\u0002\u0003\r]/g
const HEADING = /^[│╷\s|]*Error: (.+)$/

/** Terraform and OpenTofu begin the errors of a configuration at init with this one, which has no cause. */
const WRAPPER = /^(Terraform|OpenTofu) encountered problems during initiali[sz]ation/

/** The summary of the first error in a log, of JSON lines or text. */
export function errorIn(log: string): string | undefined {
  for (const line of log.split('\n')) {
    const plain = line.replaceAll(CONTROLS, '')
    const summary = plain.includes('"diagnostic"') ? jsonSummary(plain) : HEADING.exec(plain)?.[1]?.trim()
    if (summary !== undefined && !WRAPPER.test(summary)) return summary
  }
  return undefined
}

function jsonSummary(line: string): string | undefined {
  try {
    const { type, diagnostic } = JSON.parse(line.slice(line.indexOf('{'))) as {
      type?: unknown
      diagnostic?: { severity?: unknown; summary?: unknown }
    }
    const isError = type === 'diagnostic' && diagnostic?.severity === 'error'
    return isError && typeof diagnostic.summary === 'string' ? diagnostic.summary : undefined
  } catch {
    return undefined
  }
}

/** A text of a user without sensitive values; hidden if these cannot be read. */
export async function readWithoutValues(ctx: Ctx, workspaceId: string, text: string) {
  try {
    return await withoutSensitiveValues(ctx, workspaceId, text)
  } catch (cause) {
    ctx.log.warn(
      { err: cause, workspace: workspaceId },
      'the sensitive values of a workspace could not be read for a notification',
    )
    return HIDDEN
  }
}

async function withoutSensitiveValues(ctx: Ctx, workspaceId: string, text: string) {
  const values = (await readSensitiveValues(ctx, [workspaceId]))(workspaceId)
  if (!values) return text
  const isSensitive = recognised(values)
  const masked = [...values.texts].reduce((rest, value) => rest.replaceAll(value, HIDDEN), text)
  return masked.replaceAll(/[^\s"'`=:,;()]+/g, (word) => (isSensitive.has(word) ? HIDDEN : word))
}
