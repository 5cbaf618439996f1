import { exactTime } from '../../components/time.tsx'

const ISO_TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g

/** The reason for which a run waits, with its times in the reader's own zone. */
export function waitingReason(reason: string) {
  return reason.replaceAll(ISO_TIME, (time) => exactTime(time))
}
