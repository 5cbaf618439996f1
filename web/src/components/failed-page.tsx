import { ErrorComponent, type ErrorComponentProps } from '@tanstack/react-router'
import { useEffect } from 'react'

/** Messages of browsers for a file that the server does not have. */
const MISSING_FILE = /^(?:Failed to fetch|error loading) dynamically imported module|^Importing a module script failed/
const RELOADED_KEY = 'groundstate-reloaded-at'
const MIN_INTERVAL_MS = 10_000

/** Shows an error of a page. If a part of a page is missing because the server was upgraded since the page was loaded, loads the new page. */
export function FailedPage(props: ErrorComponentProps) {
  const isMissing = props.error instanceof Error && MISSING_FILE.test(props.error.message)
  useEffect(() => {
    if (!isMissing || Date.now() - Number(sessionStorage.getItem(RELOADED_KEY)) < MIN_INTERVAL_MS) return
    sessionStorage.setItem(RELOADED_KEY, String(Date.now()))
    location.reload()
  }, [isMissing])
  return <ErrorComponent error={props.error} />
}
