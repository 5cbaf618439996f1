variable "network" {
  type        = object({ organization = string, workspace = string })
  description = "The workspace whose outputs this configuration reads."
}

variable "services" {
  type        = map(number)
  description = "The services by name, with their number of replicas."
  default     = { web = 2, worker = 1 }
}

variable "environment" {
  type        = string
  description = "Part of every name. The variable set has it for all workspaces of the project."
  default     = "development"
}

variable "owner" {
  type        = string
  description = "Contact for this configuration. The variable set has it for all workspaces of the project."
  default     = ""
}
