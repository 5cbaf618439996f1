import { Link, type LinkProps, useNavigate } from '@tanstack/react-router'
import type { ComponentProps } from 'react'

/**
 * The target of a link given as data, as in menus and tabs. Looser than the router's type, which depends on every route
 * and so cannot be imported by components of routes.
 */
export type Target = { to: string; params?: Record<string, string>; search?: Record<string, string | number | boolean> }

type TargetLinkProps = ComponentProps<'a'> & { leadsTo: Target; exact?: boolean }

export function TargetLink({ leadsTo, exact = false, ...props }: TargetLinkProps) {
  return <Link {...(leadsTo as LinkProps)} activeOptions={{ exact, includeSearch: false }} {...props} />
}

/** Returns a function that navigates to a target. */
export function useGo() {
  const navigate = useNavigate()
  return (target: Target) => void navigate(target as Parameters<typeof navigate>[0])
}
