@ECHO OFF
@ruby3.1 "%~dpn0" %*
