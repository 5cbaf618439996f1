#!/usr/bin/env node
import { runCommandLine } from '../src/command-line.ts'

process.exitCode = await runCommandLine(process.argv.slice(2), process.env)
