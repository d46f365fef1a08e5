#!/bin/sh
# Puts the Swift sources into the form that `make lint` checks.
set -eu
cd "$(dirname "$0")/.."

exec "${SWIFT:-swift}" format --in-place --parallel --recursive Sources Tests Package.swift
